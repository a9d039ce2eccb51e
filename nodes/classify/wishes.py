"""The words by which the rules for requirements know a wish, a goal or a clash."""

from mendgraph.nodes.classify.rule import Seen, says
from mendgraph.state.failure import Layer

_ACT = (
    r"delet\w*|remov\w*|drop\w*|truncat\w*|wip\w+|purg\w+|overwrit\w+|reset\w*|clear\w*"
    r"|clean\w* (?:up|out)|kill\w*|destroy\w*|archiv\w+|cancel\w*|refund\w*|revok\w+"
    r"|send\w*|email\w*|transfer\w*|pay\w*|deploy\w*|publish\w*|push\w*|merg\w+"
    r"|restart\w*"
    r"|renam\w+|mov\w+|updat\w+|replac\w+|migrat\w+|revert\w*|roll\w* back|shut\w* down"
    r"|chang\w+|switch\w*|disabl\w+|enabl\w+|uninstall\w*|rewrit\w+"
)
ACTION = says(
    rf"\b(?:{_ACT})\b|删除|清空|移除|覆盖|重置|发送|退款|部署|取消|删|清掉|改掉|发给"
)

LONGEST_WISH = 1_500
"""Longer texts are logs or documents, not what a person asked for."""


def is_technical(seen: Seen) -> bool:
    """Tell whether the text came from a machine rather than from a person."""
    codes = (seen.facts.http_status, seen.facts.errno, seen.facts.exit_code)
    return (
        len(seen.facts.message) > LONGEST_WISH
        or seen.facts.layer not in (Layer.TOOL, Layer.PLAN)
        or seen.facts.tool is not None
        or bool(seen.facts.exceptions or seen.facts.sqlstate or seen.facts.family)
        or any(code is not None for code in codes)
        or MACHINE(seen)
    )


MACHINE = says(
    r"\b(?:failed to|error:|exceptions?:|traceback|errno|fatal:|warning:|stack ?trace)"
    r"|\berror code\b|reset reason|\bupstream\b|https?://\S+ (?:returned|failed)"
    r"|\w+Error\b|\bnull\b|::"
)
QUESTION = says(
    r"\?|\uff1f|^(?:\W*)(?:could|can|should|would|what|how|why|is|are|do|does|may"
    r"|might) (?:we|i|you"
    r"|it|there|happens?|if|the)\b|what (?:would|if|happens)|是否|能不能|可以.{0,20}吗"
    r"|会怎样"
)
SEVERAL = says(
    r"[\[(\uff08].*[,\uff0c、/|].*[\])\uff09]|\b(?:two|three|several|multiple|many|both"
    r"|\d+) (?:\w+ ){0,3}"
    r"(?:match|files?|candidates?|databases?|tables?|users?|records?|orders?|results?"
    r"|options"
    r"|branches|accounts?|environments?|possible|meanings?)|\bwhich (?:one|of)\b"
    r"|\b\w+ or \w+\b"
    r"|ambiguous|unclear which|could mean|either"
)
BARE_TASK = says(
    r"^\W*(?:please )?(?:fix|handle|check|update|solve|debug|repair|do|sort out"
    r"|deal with"
    r"|look (?:at|into)|change|修复?|处理|检查)\W*(?:the |a |an |my "
    r"|一下)?(?:\w+ )?(?:bug|issue"
    r"|problem|error|thing|task|test|file|page|code|data|config\w*|server|site|app"
    r"|问题)s?\W*$"
)
VAGUE_THING = says(
    r"^\W*(?:please )?(?:\w+ ){1,3}(?:it|that|this|them|those|these|there)\b(?:\W|$)"
    r"|\bthe (?:old|other|same|usual|right|last|previous|wrong|first|big|new) (?:one"
    r"|thing|file"
    r"|version|data\w*|report|table|way|server|branch|user|account|folder|project"
    r"|\w+)\b"
    r"|\b(?:as|like) (?:before|usual|last time|always)|same as (?:before|last)"
    r"|you know (?:what"
    r"|which)|(?:some|any)thing|stuff|那个|这个|旧的|新的|之前的|它|老样子|和上次一样"
    r"|之前那"
)
VAGUE_MEASURE = says(
    r"\btoo \w+\b|\b(?:more|less|very|much) \w+\b|\b\w+er\b(?= *(?:$|[.!,;]|please"
    r"|than|and))"
    r"|\b(?:faster|slower|better|nicer|cleaner|prettier|simpler|smaller|bigger|cheaper"
    r"|lighter"
    r"|darker|shorter|longer|smoother|cooler|easier|friendlier)\b|improv\w+"
    r"|optimi[sz]\w+"
    r"|enhanc\w+|clean (?:it )?up|tidy|polish|moderni[sz]\w+|professional|good|nice"
    r"|modern"
    r"|beautiful|responsive|scalable|robust|reasonable|appropriate|suitable|proper\w*"
    r"|efficient"
    r"|user[- ]friendly|high[- ]quality|as soon as possible|\basap\b|soon|quickly"
    r"|a few|some"
    r"|\benough\b|\b(?:feels|looks|sounds|seems) (?:a bit |kind of |so )?\w+\W*$"
    r"|\b(?:old|recent|unused|outdated|inactive|few|many|short|long|brief|big|small"
    r"|large|quick|cheap|simple|nice|detailed)\b"
    r"|not (?:good|nice|fast|right|great|working|pretty)|looks? (?:off|bad|wrong|ugly)"
    r"|ugly"
    r"|太|优化|改进|改善|快一?点|好看|美观|合适|适当|尽快|更(?:好|快|多|少)|一些|大概"
)
LACKS_VALUE = says(
    r"^\W*(?:please )?(?:book|schedule|reserve|order|buy|purchase|transfer|send|remind"
    r"|invite"
    r"|translate|convert|resize|set up|rent|hire|plan|find|recommend|generate|create"
    r"|export"
    r"|summari[sz]e|write|explain|describe|draft|analy[sz]e|clean|process"
    r"|deploy|backup|back up|scale|set|limit|预订|安排|订|买|转账|发送|翻译|推荐)"
)
MEASURED = says(r"\d|\b(?:today|tomorrow|monday|tuesday|wednesday|thursday|friday)\b")
BROKEN_PROMISE = says(
    r"(?:current|original|real|initial|stated|actual|first|user'?s?) (?:goal|task"
    r"|request|aim"
    r"|instruction|intent|question)|\btask\s*[:=]|\bgoal\s*(?::|was|is)"
    r"|asked (?:only )?(?:for|to)"
    r"|原(?:始|来)?(?:目标|任务|需求)|当前目标|目标[:\uff1a]"
)
WANDERED = says(
    r"compacted|summar(?:y|i[sz])|earlier|history|stale|meanwhile|\bnow\b|instead"
    r"|wander|drift"
    r"|unrelated|off[- ]topic|scope creep|not asked|beyond|no longer|previous(?:ly)?"
    r"|forgot\w*"
    r"|lost|but (?:the )?(?:agent|plan|step|it)|after \d+ (?:steps|turns)|switched"
    r"|also (?:started"
    r"|began|refactor)|\b(?:step|turn) \d+|->|→|\bagent\b|\bstarted to\b|现在|已经"
    r"|偏离|无关|之前|转而"
)
CHANGED_MIND = says(
    r"\bactually\b.{0,60}\binstead\b|changed? my mind|forget (?:that|what i|about|the)"
    r"|scratch "
    r"that|(?:only|just) wanted|not what i (?:want|ask|mean)|new (?:goal|requirement"
    r"|priority)|requirements? (?:has |have )?changed"
    r"|on second "
    r"thought|never ?mind|goal (?:has )?(?:changed|shifted)|改成|改为|不要了|换成"
    r"|需求变"
)
