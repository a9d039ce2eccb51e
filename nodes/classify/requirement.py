"""Faults in what was asked for: text of a person, not of a machine.

General marks only: two demands that exclude each other, a destructive wish with several
candidates, a question taken for a command, a wish without measure, a goal left behind.
"""

import itertools
import re

from mendgraph.nodes.classify.rule import (
    AMBIGUOUS,
    CLASHING,
    DRIFTED,
    UNMEASURED,
    Predicate,
    Rule,
    Seen,
    every,
    none_of,
    says,
    some,
)

_ACT = (
    r"delet\w*|remov\w*|drop\w*|truncat\w*|wip\w+|purg\w+|overwrit\w+|reset\w*|clear\w*"
    r"|clean\w* (?:up|out)|kill\w*|destroy\w*|archiv\w+|cancel\w*|refund\w*|revok\w+"
    r"|send\w*|email\w*|transfer\w*|pay\w*|deploy\w*|publish\w*|push\w*|merg\w+|restart\w*"
    r"|renam\w+|mov\w+|updat\w+|replac\w+|migrat\w+|revert\w*|roll\w* back|shut\w* down"
    r"|chang\w+|switch\w*|disabl\w+|enabl\w+|uninstall\w*|rewrit\w+"
)
_ACTION = says(
    rf"\b(?:{_ACT})\b|删除|清空|移除|覆盖|重置|发送|退款|部署|取消|删|清掉|改掉|发给"
)

_OPPOSED: tuple[tuple[str, str], ...] = (
    (
        r"backwards?[- ]compat|(?:do not|don't|never|without|must not|no) (?:\w+ ){0,2}"
        r"(?:chang|modif|touch|break|alter|edit|renam)|keep .{0,40}(?:unchanged|as is|same"
        r"|intact|stable)|unchanged|preserve|保持.{0,10}不变|不(?:要|得|能)?(?:改|修改|动)",
        r"rewrit|entire|replac|remov|redesign|delet|overhaul|restructur|refactor|renam"
        r"|migrat|upgrad|from scratch|add full|full .{0,20}coverage|重写|重构|全部|替换",
    ),
    (
        r"(?:no|without|avoid|zero) (?:\w+ ){0,2}(?:dependenc|librar|package|framework)"
        r"|standard library|vanilla|不(?:引入|使用).{0,8}(?:依赖|库)",
        r"\b(?:use|using|with|add|install|via) (?:the )?[a-z]\w+|引入",
    ),
    (
        r"offline|no (?:network|internet)|air[- ]?gapped|without (?:network|internet)|离线",
        r"fetch|download|live|latest|online|cloud|web|\bAPI\b|real[- ]time|最新|联网",
    ),
    (
        r"\b(?:short|brief|concise|one[- ](?:sentence|paragraph|page|line)|terse)\b"
        r"|(?:under|within|max\w*|at most|no more than|less than) \d+ (?:word|line|page|char)"
        r"|简短|简洁|不超过",
        r"\b(?:all|every|full|complete|detail\w*|comprehensive|in[- ]depth|exhaustive"
        r"|thorough)\b|详细|全面|所有",
    ),
    (
        r"\bfree\b|(?:no|zero)[- ](?:cost|budget)|costs? (?:at|of) (?:zero|nothing)|cheap\w*|lowest (?:cost|price)|without paying|免费|最便宜",
        r"\b(?:best|premium|largest|paid|fastest|highest|top|luxury|five[- ]star)\b|最好|高级",
    ),
    (
        r"read[- ]only|dry[- ]run|no side effects|without (?:writing|changing)|只读",
        r"\b(?:delete|drop|update|insert|write|fix|push|deploy|commit|send|apply)\b|写入|删除",
    ),
    (
        r"anonym|privacy|no personal|gdpr|(?:don't|do not|never) (?:log|store|collect|share)"
        r"|匿名|隐私",
        r"\b(?:names?|emails?|personal|track|log every|store|real users?|phone)\b|记录|姓名",
    ),
    (
        r"\b(?:fast|quick\w*|immediately|today|right now|asap|instant\w*)\b|in \d+ (?:min|sec)"
        r"|立即|马上|尽快",
        r"\b(?:thorough|exhaustive|every|full (?:test|review|audit)|careful\w*|all)\b|彻底|逐一",
    ),
    (
        r"(?:no|skip|without) (?:\w+ )?tests?\b|不(?:写|跑|要)测试",
        r"coverage|tested|passing tests|test suite|覆盖率",
    ),
    (
        r"(?:zero|no|without) downtime|不停机",
        r"restart|stop|shut ?down|take .* offline|停机",
    ),
    (
        r"(?:don't|do not|never|without) (?:ask|confirm|approv|prompt)|no (?:questions|confirm)"
        r"|不(?:要|用)(?:问|确认)",
        r"\b(?:ask|confirm|approv\w+|check with)\b|确认",
    ),
    (r"deterministic|reproducib|确定性", r"random|creative|different each time|随机"),
    (
        r"\b(?:secure|encrypt\w*|confidential|secret)\b|加密|安全",
        r"plain ?text|disable (?:auth|tls|ssl|https)|without (?:password|auth)|public\w*|明文",
    ),
    (
        r"real[- ]?time|live|实时",
        r"batch|nightly|weekly|once a day|cached?|每天一次|批量",
    ),
    (
        r"\b(?:simple|minimal\w*|lightweight|small)\b|极简|轻量",
        r"(?:all|every) (?:feature|option)|feature[- ]complete|enterprise|everything|所有功能",
    ),
    (r"synchronous\b(?<!asynchronous)|同步", r"asynchronous|non-blocking|异步"),
)
_SHORT = 3
"""Place of short against complete, which clash within one clause too."""

_PAIRS = tuple(
    (re.compile(left, re.IGNORECASE), re.compile(right, re.IGNORECASE))
    for left, right in _OPPOSED
)
_JOIN = re.compile(
    r"\s+[+|]\s+|\s*[;；,，。]\s*|\.\s+|\s+(?:but|and|yet|while|also|however|though|although"
    r"|plus|as well as|at the same time)\s+|但是?|同时|而且|又要|并且?",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:don't|do not|never|no|not|without|must not|mustn't|avoid|keep)\b", re.I
)
_STRONG_JOIN = re.compile(
    r"\s[+|]\s|\bbut\b|\byet\b|\bat the same time\b|\bhowever\b|但|同时|又要",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"(?:at least|more than|minimum(?: of)?|over|>=?|至少|不少于)\s*\$?(\d+)", re.I
)
_MOST = re.compile(
    r"(?:at most|less than|maximum(?: of)?|under|within|no more than|up to|<=?|不超过|最多)"
    r"\s*\$?(\d+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{3,}")


_COMMON = frozenset(
    "with that this have must keep the and for use any all not don ever from make into each "
    "only them they will your every ask add new".split()
)
_ANTONYMS = (
    (r"delet|remov|drop|purg|discard", r"keep|retain|preserv|archiv|restor"),
    (r"includ|with", r"exclud|without|omit|leave out"),
    (r"enabl|turn on|start", r"disabl|turn off|stop"),
    (r"increas|rais|more", r"decreas|reduc|lower|fewer|less"),
    (r"show|display|visible|public", r"hide|hidden|private|invisible"),
    (r"ascending|oldest first|before", r"descending|newest first|after"),
    (r"删除|移除|清空", r"保留|保存"),
    (r"增加|提高", r"减少|降低"),
)


def _stems(text: str) -> set[str]:
    return {w.rstrip("s")[:4] for w in _WORD.findall(text.lower())} - {
        w.rstrip("s")[:4] for w in _COMMON
    }


def _opposite_verbs_on_one_thing(seen: Seen) -> bool:
    """Tell whether two clauses want the opposite of all of one and the same thing."""
    clauses = [part for part in _JOIN.split(seen.facts.message) if part]
    return any(
        re.search(left, one, re.IGNORECASE)
        and re.search(right, two, re.IGNORECASE)
        and re.search(
            r"\b(?:all|every|any|entire|everything)\b|所有|全部", f"{one} {two}"
        )
        and _stems(one) & _stems(two)
        for pair in _ANTONYMS
        for left, right in (pair, pair[::-1])
        for one, two in itertools.permutations(clauses, 2)
    )


def _opposed_clauses(seen: Seen) -> bool:
    """Tell whether two clauses hold the two sides of a known opposition."""
    clauses = [
        part for part in _JOIN.split(seen.facts.message) if part and part.strip()
    ]
    return any(
        left.search(one) and right.search(two)
        for left, right in _PAIRS
        for one in clauses
        for two in clauses
        if one is not two
    )


def _short_and_complete(seen: Seen) -> bool:
    """Tell whether one sentence wants the short form of the whole."""
    left, right = _PAIRS[_SHORT]
    found = left.search(seen.facts.message), right.search(seen.facts.message)
    return bool(found[0] and found[1]) and "one" in seen.facts.message.lower()


def _impossible_range(seen: Seen) -> bool:
    least, most = _LEAST.search(seen.facts.message), _MOST.search(seen.facts.message)
    return bool(least and most) and int(least[1]) > int(most[1])  # type: ignore[index]


def _forbids_and_demands_one_thing(seen: Seen) -> bool:
    """Tell whether a joined demand names what another one forbids to touch."""
    text = seen.facts.message.lower()
    if not _STRONG_JOIN.search(text):
        return False
    clauses = [part for part in _JOIN.split(text) if part]
    stems = [(_stems(c), bool(_NOT.search(c))) for c in clauses]
    return any(
        mine & theirs - _COMMON
        for mine, forbidden in stems
        for theirs, other in stems
        if forbidden and not other
    )


_TECHNICAL: Predicate = lambda seen: bool(  # noqa: E731
    seen.facts.exceptions
    or seen.facts.sqlstate
    or seen.facts.family
    or any(
        fact is not None
        for fact in (seen.facts.http_status, seen.facts.errno, seen.facts.exit_code)
    )
)
_MACHINE = says(
    r"\b(?:failed to|error:|exceptions?:|traceback|errno|fatal:|warning:|stack ?trace)"
    r"|https?://\S+ (?:returned|failed)|\w+Error\b|\bnull\b|::"
)
_QUESTION = says(
    r"\?|？|^(?:\W*)(?:could|can|should|would|what|how|why|is|are|do|does|may|might) (?:we|i|you"
    r"|it|there|happens?|if|the)\b|what (?:would|if|happens)|是否|能不能|可以.{0,20}吗|会怎样"
)
_SEVERAL = says(
    r"[\[(（].*[,，、/|].*[\])）]|\b(?:two|three|several|multiple|many|both|\d+) (?:\w+ ){0,3}"
    r"(?:match|files?|candidates?|databases?|tables?|users?|records?|orders?|results?|options"
    r"|branches|accounts?|environments?|possible|meanings?)|\bwhich (?:one|of)\b|\b\w+ or \w+\b"
    r"|ambiguous|unclear which|could mean|either"
)
_VAGUE_THING = says(
    r"^\W*(?:please )?(?:\w+ ){1,3}(?:it|that|this|them|those|these|there)\b(?:\W|$)"
    r"|\bthe (?:old|other|same|usual|right|last|previous|wrong|first|big|new) (?:one|thing|file"
    r"|version|data\w*|report|table|way|server|branch|user|account|folder|project|\w+)\b"
    r"|\b(?:as|like) (?:before|usual|last time|always)|same as (?:before|last)|you know (?:what"
    r"|which)|(?:some|any)thing|stuff|那个|这个|旧的|新的|之前的|它|老样子|和上次一样|之前那"
)
_VAGUE_MEASURE = says(
    r"\btoo \w+\b|\b(?:more|less|very|much) \w+\b|\b\w+er\b(?= *(?:$|[.!,;]|please|than|and))"
    r"|\b(?:faster|slower|better|nicer|cleaner|prettier|simpler|smaller|bigger|cheaper|lighter"
    r"|darker|shorter|longer|smoother|cooler|easier|friendlier)\b|improv\w+|optimi[sz]\w+"
    r"|enhanc\w+|clean (?:it )?up|tidy|polish|moderni[sz]\w+|professional|good|nice|modern"
    r"|beautiful|responsive|scalable|robust|reasonable|appropriate|suitable|proper\w*|efficient"
    r"|user[- ]friendly|high[- ]quality|as soon as possible|\basap\b|soon|quickly|a few|some"
    r"|\benough\b|\b(?:feels|looks|sounds|seems) (?:a bit |kind of |so )?\w+\W*$"
    r"|\b(?:short|long|brief|big|small|large|quick|cheap|simple|nice|detailed)\b"
    r"|not (?:good|nice|fast|right|great|working|pretty)|looks? (?:off|bad|wrong|ugly)|ugly"
    r"|太|优化|改进|改善|快一?点|好看|美观|合适|适当|尽快|更(?:好|快|多|少)|一些|大概"
)
_LACKS_VALUE = says(
    r"^\W*(?:please )?(?:book|schedule|reserve|order|buy|purchase|transfer|send|remind|invite"
    r"|translate|convert|resize|set up|rent|hire|plan|find|recommend|generate|create|export"
    r"|summari[sz]e|write|explain|describe|draft|analy[sz]e|clean|process"
    r"|deploy|backup|back up|scale|set|limit|预订|安排|订|买|转账|发送|翻译|推荐)"
)
_MEASURED = says(r"\d|\b(?:today|tomorrow|monday|tuesday|wednesday|thursday|friday)\b")
_BROKEN_PROMISE = says(
    r"(?:current|original|real|initial|stated|actual|first|user'?s?) (?:goal|task|request|aim"
    r"|instruction|intent|question)|\btask\s*[:=]|\bgoal\s*(?::|was|is)|asked (?:only )?(?:for|to)"
    r"|原(?:始|来)?(?:目标|任务|需求)|当前目标|目标[:：]"
)
_WANDERED = says(
    r"compacted|summar(?:y|i[sz])|earlier|history|stale|meanwhile|\bnow\b|instead|wander|drift"
    r"|unrelated|off[- ]topic|scope creep|not asked|beyond|no longer|previous(?:ly)?|forgot\w*"
    r"|lost|but (?:the )?(?:agent|plan|step|it)|after \d+ (?:steps|turns)|switched|also (?:started"
    r"|began|refactor)|\b(?:step|turn) \d+|->|→|\bagent\b|\bstarted to\b|现在|已经|偏离|无关|之前|转而"
)
_CHANGED_MIND = says(
    r"\bactually\b.{0,60}\binstead\b|changed? my mind|forget (?:that|what i|about|the)|scratch "
    r"that|new (?:goal|requirement|priority)|requirements? (?:has |have )?changed|on second "
    r"thought|never ?mind|goal (?:has )?(?:changed|shifted)|改成|改为|不要了|换成|需求变"
)

RULES: tuple[Rule, ...] = tuple(
    Rule(name, every(none_of(_TECHNICAL, _MACHINE), when), verdict, confidence)
    for name, when, verdict, confidence in (
        (
            "what is done has left the goal",
            some(
                every(_BROKEN_PROMISE, _WANDERED), says(r"goal drift|scope creep|偏离")
            ),
            DRIFTED,
            0.75,
        ),
        ("the wish has changed under way", _CHANGED_MIND, DRIFTED, 0.7),
        (
            "two demands exclude each other",
            some(
                _opposed_clauses,
                _opposite_verbs_on_one_thing,
                _short_and_complete,
                _impossible_range,
                says(
                    r"contradict|mutually exclusive|conflicting (?:demand|require|instruct"
                    r"|constraint|goal)|cannot both|incompatible (?:demand|require)|矛盾|冲突"
                ),
            ),
            CLASHING,
            0.75,
        ),
        (
            "a question is no command",
            every(_QUESTION, _ACTION),
            AMBIGUOUS,
            0.75,
        ),
        (
            "an effect is wished, and several things may be meant",
            every(_ACTION, _SEVERAL),
            AMBIGUOUS,
            0.75,
        ),
        (
            "what is forbidden is demanded beside it",
            _forbids_and_demands_one_thing,
            CLASHING,
            0.6,
        ),
        (
            "it is open which thing is meant",
            every(_ACTION, _VAGUE_THING),
            AMBIGUOUS,
            0.65,
        ),
        (
            "several things may be meant",
            says(
                r"ambiguous|unclear (?:which|what)|could mean|two (?:possible )?meanings|歧义|不明确"
            ),
            AMBIGUOUS,
            0.7,
        ),
        (
            "a wish without measure",
            every(_VAGUE_MEASURE, none_of(says(r"\d"))),
            UNMEASURED,
            0.65,
        ),
        (
            "a wish without the values it needs",
            every(_LACKS_VALUE, none_of(_MEASURED)),
            UNMEASURED,
            0.6,
        ),
        (
            "a constraint is not named",
            says(
                r"(?:no|without|missing|unspecified|not (?:specified|given|stated)).{0,40}(?:deadline"
                r"|budget|limit|format|range|date|scope|measure|criteria|constraint|threshold)"
                r"|未(?:指定|说明|给出)|没有(?:说|给|指定)"
            ),
            UNMEASURED,
            0.65,
        ),
        ("it is open which thing is meant", _VAGUE_THING, AMBIGUOUS, 0.6),
    )
)
