"""Browsers and developer tools: Playwright, Selenium, git, docker, package managers."""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CHANGED,
    CONFLICT,
    CRASHED,
    DENIED,
    DOWN,
    FULL_HERE,
    NETWORK,
    PROBE_ARGS,
    RATE,
    RECONNECT,
    SLOW,
    UNMET,
    Predicate,
    Rule,
    Verdict,
    every,
    family,
    named,
    package,
    says,
    some,
)

_BROWSER: Predicate = some(
    family("playwright", "selenium"),
    package("playwright", "selenium", "pyppeteer"),
    says(
        r"playwright|selenium|chromedriver|Timeout \d+ms exceeded|locator\(|Page\."
        r"|page\."
        r"(?:goto|click|fill|wait)|net::ERR_|webdriver|puppeteer|strict mode violation"
    ),
)

_BROWSER_WORDS: tuple[tuple[str, str, Verdict], ...] = (
    (
        "the browser is not installed",
        (
            r"executable doesn't exist|playwright install|unable to obtain driver"
            r"|cannot find chrome binary|needs to be in path"
            r"|host system is missing dependencies"
            r"|session not created"
        ),
        UNMET,
    ),
    ("several elements match", r"strict mode violation", BAD_ARGS),
    (
        "the browser or page was closed",
        (
            r"target (?:page, context or browser has been )?closed"
            r"|browser has been closed"
            r"|target crashed|page crashed|page closed|invalid session id"
            r"|no such window"
            r"|browser closed|chrome not reachable|disconnected"
            r"|websocket (?:is )?closed"
            r"|not connected to devtools|tab crashed"
        ),
        RECONNECT,
    ),
    (
        "the page moved on during the call",
        (
            r"execution context was destroyed|frame (?:was|got) detached|stale element"
            r"|element is not attached|StaleElementReference|navigation interrupted"
            r"|interrupted by another navigation|not attached to the (?:page|dom)"
        ),
        CONFLICT,
    ),
    (
        "the element is there but cannot be used",
        (
            r"intercepts pointer events|not clickable|element is not (?:visible|enabled"
            r"|stable"
            r"|interactable)|ElementClickIntercepted|ElementNotInteractable"
            r"|outside of the viewport"
            r"|not an <input>|element not interactable"
        ),
        BAD_ARGS,
    ),
    (
        "the element was not found",
        (
            r"waiting for (?:locator|selector|get_?by|element)|no such element"
            r"|NoSuchElement"
            r"|failed to find element|unable to locate element|resolved to 0 elements"
        ),
        CHANGED,
    ),
    (
        "the selector is wrong",
        (
            r"invalid selector|unknown engine|unexpected token .* while parsing"
            r"|InvalidSelector"
            r"|not a valid (?:xpath|selector)|cannot navigate to invalid url"
        ),
        BAD_ARGS,
    ),
    ("the page took too long", r"timeout|timed out", SLOW),
    (
        "the page was not reached",
        r"net::ERR_(?:INTERNET|ADDRESS|CONNECTION|TIMED|NETWORK)",
        NETWORK,
    ),
    (
        "the download started instead",
        r"download is starting|net::ERR_ABORTED",
        BAD_ARGS,
    ),
)

_TOOL_WORDS: tuple[tuple[str, str, Verdict], ...] = (
    (
        "git: the branch moved on",
        (
            r"non-fast-forward|fetch first|\[rejected\]"
            r"|tip of your current branch is behind"
            r"|cannot lock ref|stale info"
        ),
        CONFLICT,
    ),
    (
        "git: changes collide",
        (
            r"merge conflict|CONFLICT \(|would be overwritten by|could not apply"
            r"|patch does not apply|unmerged (?:files|paths)|automatic merge failed"
        ),
        CHANGED,
    ),
    ("git: another process holds the index", r"index\.lock|another git process", DOWN),
    (
        "git: no repository or ref there",
        r"not a git repository|does not appear to be a git repository",
        UNMET,
    ),
    (
        "git: the name does not exist",
        (
            r"pathspec .* did not match|unknown revision|couldn't find remote ref"
            r"|bad revision"
            r"|repository .{0,80}not found|invalid reference|remote branch .* not found"
        ),
        BAD_ARGS,
    ),
    (
        "git: it exists already",
        (
            r"destination path .* already exists|branch named .* already exists"
            r"|tag .* already exists"
        ),
        PROBE_ARGS,
    ),
    ("git: nothing to commit", r"nothing to commit", UNMET),
    (
        "git: the login is refused",
        (
            r"permission to \S+ denied|could not read (?:username|password)"
            r"|permission denied \(publickey"
            r"|authentication failed for|host key verification failed"
            r"|support for password authentication was removed|protected branch|GH006"
        ),
        DENIED,
    ),
    ("docker: pulls are limited", r"toomanyrequests|pull rate limit", RATE),
    (
        "docker: the image may not be pulled",
        (
            r"pull access denied|denied: requested access|no basic auth credentials"
            r"|ErrImagePull.*unauthorized"
        ),
        DENIED,
    ),
    (
        "docker: the image or container is not there",
        (
            r"no such (?:container|image|volume|network)"
            r"|manifest (?:for .* )?(?:not found"
            r"|unknown)"
            r"|unable to find image|ImagePullBackOff|invalid reference format"
        ),
        BAD_ARGS,
    ),
    (
        "docker: the name or port is taken",
        r"(?:name|port) .{0,80}already (?:in use|allocated)|port is already allocated",
        PROBE_ARGS,
    ),
    (
        "docker: the daemon is not reached",
        r"cannot connect to the docker daemon|docker daemon",
        NETWORK,
    ),
    ("docker: no space", r"no space left on device", FULL_HERE),
    (
        "packages: no version fits",
        (
            r"no matching distribution|could not find a version|ResolutionImpossible"
            r"|ERESOLVE"
            r"|version solving failed|conflicting dependencies|ETARGET|E404|unmet peer"
            r"|no matching version|unable to resolve dependency"
        ),
        BAD_ARGS,
    ),
    (
        "packages: the system's own environment",
        r"externally-managed-environment",
        UNMET,
    ),
    (
        "packages: the lock is held",
        (
            r"could not get lock|dpkg frontend lock|waiting for cache lock"
            r"|lock file is held"
        ),
        DOWN,
    ),
    (
        "kubernetes: the object changed",
        r"the object has been modified|please apply your changes to the latest version",
        CONFLICT,
    ),
    ("kubernetes: the container keeps crashing", r"CrashLoopBackOff", CRASHED),
    ("make: a target is missing", r"no rule to make target", UNMET),
)

RULES: tuple[Rule, ...] = (
    *(
        Rule(f"browser: {name}", every(_BROWSER, says(words)), verdict, 0.85)
        for name, words, verdict in _BROWSER_WORDS
    ),
    *(Rule(name, says(words), verdict, 0.85) for name, words, verdict in _TOOL_WORDS),
    Rule(
        "browser: the element was not found",
        named("NoSuchElementException", "NoSuchElementError"),
        CHANGED,
    ),
)
