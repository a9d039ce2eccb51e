"""Demands that exclude each other, two by two."""

import re

OPPOSED: tuple[tuple[str, str], ...] = (
    (
        (
            r"backwards?[- ]compat|(?:do not|don't|never|without|must not"
            r"|no) (?:\w+ ){0,2}"
            r"(?:chang|modif|touch|break|alter|edit|renam)|keep .{0,40}(?:unchanged"
            r"|as is"
            r"|same"
            r"|intact|stable)|unchanged|preserve|保持.{0,10}不变|不(?:要|得|能)?(?:改"
            r"|修改"
            r"|动)"
        ),
        (
            r"rewrit|entire|replac|remov|redesign|delet|overhaul|restructur|refactor"
            r"|renam"
            r"|migrat|upgrad|from scratch|add full|full .{0,20}coverage|重写|重构|全部"
            r"|替换"
        ),
    ),
    (
        (
            r"(?:no|without|avoid|zero) (?:\w+ ){0,2}(?:dependenc|librar|package"
            r"|framework)"
            r"|standard library|vanilla|不(?:引入|使用).{0,8}(?:依赖|库)"
        ),
        r"\b(?:use|using|with|add|install|via) (?:the )?[a-z]\w+|引入",
    ),
    (
        (
            r"offline|no (?:network|internet)|air[- ]?gapped|without (?:network"
            r"|internet)"
            r"|离线"
        ),
        r"fetch|download|live|latest|online|cloud|web|\bAPI\b|real[- ]time|最新|联网",
    ),
    (
        (
            r"\b(?:short|brief|concise|one[- ](?:sentence|paragraph|page|line)|terse)\b"
            r"|(?:under|within|max\w*|at most|no more than|less than) \d+ (?:word|line"
            r"|page|char)"
            r"|简短|简洁|不超过"
        ),
        (
            r"\b(?:all|every|full|complete|detail\w*|comprehensive|in[- ]depth"
            r"|exhaustive"
            r"|thorough)\b|详细|全面|所有"
        ),
    ),
    (
        (
            r"\bfree\b|(?:no|zero)[- ](?:cost|budget)|costs? (?:at|of) (?:zero|nothing)"
            r"|cheap\w*|lowest (?:cost|price)|without paying|免费|最便宜"
        ),
        (
            r"\b(?:best|premium|largest|paid|fastest|highest|top|luxury|five[- ]star)\b"
            r"|最好|高级"
        ),
    ),
    (
        r"read[- ]only|dry[- ]run|no side effects|without (?:writing|changing)|只读",
        (
            r"\b(?:delete|drop|update|insert|write|fix|push|deploy|commit|send|apply)\b"
            r"|写入|删除"
        ),
    ),
    (
        (
            r"anonym|privacy|no personal|gdpr|(?:don't|do not|never) (?:log|store"
            r"|collect"
            r"|share)"
            r"|匿名|隐私"
        ),
        (
            r"\b(?:names?|emails?|personal|track|log every|store|real users?|phone)\b"
            r"|记录"
            r"|姓名"
        ),
    ),
    (
        (
            r"\b(?:fast|quick\w*|immediately|today|right now|asap|instant\w*)\b"
            r"|in \d+ (?:min|sec)"
            r"|立即|马上|尽快"
        ),
        (
            r"\b(?:thorough|exhaustive|every|full (?:test|review|audit)|careful\w*"
            r"|all)\b"
            r"|彻底|逐一"
        ),
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
        (
            r"(?:don't|do not|never|without) (?:ask|confirm|approv|prompt)"
            r"|no (?:questions"
            r"|confirm)"
            r"|不(?:要|用)(?:问|确认)"
        ),
        r"\b(?:ask|confirm|approv\w+|check with)\b|确认",
    ),
    (
        (
            r"(?:don't|do not|never|no|without) (?:upgrad|updat)\w*|pin(?:ned)? version"
            r"|stay on"
        ),
        r"latest|newest|upgrade to|up[- ]to[- ]date",
    ),
    (r"deterministic|reproducib|确定性", r"random|creative|different each time|随机"),
    (
        r"\b(?:secure|encrypt\w*|confidential|secret)\b|加密|安全",
        (
            r"plain ?text|disable (?:auth|tls|ssl|https)|without (?:password|auth)"
            r"|public\w*|明文"
        ),
    ),
    (
        r"real[- ]?time|live|实时",
        r"batch|nightly|weekly|once a day|cached?|每天一次|批量",
    ),
    (
        r"\b(?:simple|minimal\w*|lightweight|small)\b|极简|轻量",
        (
            r"(?:all|every) (?:feature|option)|feature[- ]complete|enterprise"
            r"|everything"
            r"|所有功能"
        ),
    ),
    (r"synchronous\b(?<!asynchronous)|同步", r"asynchronous|non-blocking|异步"),
)
SHORT = 3
"""Place of short against complete, which clash within one clause too."""

PAIRS = tuple(
    (re.compile(left, re.IGNORECASE), re.compile(right, re.IGNORECASE))
    for left, right in OPPOSED
)

ANTONYMS = (
    (r"delet|remov|drop|purg|discard", r"keep|retain|preserv|archiv|restor"),
    (r"includ|with", r"exclud|without|omit|leave out"),
    (r"enabl|turn on|start", r"disabl|turn off|stop"),
    (r"increas|rais|more", r"decreas|reduc|lower|fewer|less"),
    (r"show|display|visible|public", r"hide|hidden|private|invisible"),
    (r"ascending|oldest first|before", r"descending|newest first|after"),
    (r"删除|移除|清空", r"保留|保存"),
    (r"增加|提高", r"减少|降低"),
)
ANTONYM_PAIRS = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(two, re.IGNORECASE))
    for pair in ANTONYMS
    for one, two in (pair, pair[::-1])
)
