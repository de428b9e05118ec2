"""What gives a secret away: its own shape, its place, the name before it.

A rule is a few words, an expression, and what stands in the secret's place. The words are in small letters; where none of
them stands in a text, the expression is not tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..patterns.lazy import LazyPattern

_Replacement = str | Callable[["re.Match[str]"], str]

# Ends of names; what stands before (VLLM_, x-goog-, aws) does not matter. "token" alone is what a model reads and writes.
NAMES = (
    r"api[_ -]?(?:key|token)|(?:auth|hf|hub|access|session|security|refresh|bearer|bot|app|private|registry|git(?:hub|lab)?|gh|oauth|"
    r"jwt|sas|vault|deploy|service|client|admin|csrf|xsrf|slack|npm|pypi|wandb|ngc|modelscope)[_-]?token|"
    r"secret(?:[_-]?(?:access[_-]?)?key)?|pass(?:word|wd|[_-]?phrase)|"
    r"(?:account|shared[_-]?access|signing|encryption|private|master|subscription|storage|deploy|hmac)[_-]?key|"
    r"(?:user|db|smtp|admin|root|redis|mysql|postgres)[_-]?pass"
)
_QUOTE = r"\\{0,3}['\"]"
_NAMED = (
    rf"(?i:--(?:[\w-]{{0,60}}?(?:{NAMES})s?|token)(?:{_QUOTE})?(?:[ \t]*[=:][ \t]*|,?[ \t]+(?![=:]<))"
    rf"|(?:{NAMES})s?(?:[ \t]provided)?(?:{_QUOTE})?[ \t]*[=:][ \t]*)[bru]?"
)
"""A name with what parts it from its value. A space parts only after an option: "password is wrong" is a sentence."""
_NO_VALUE = (
    rf"(?!(?:None|null|nil|undefined|[Tt]rue|[Ff]alse|str|expected)\b|(?:Optional|list|List)\[|SecretStr\b|<|\\?['\"]|\*|(?<!=)-"
    rf"|\$\{{?[A-Z_][A-Z0-9_]*\}}?(?:[\s'\",;)]|$)|\{{\w{{1,60}}\}}|(?i:{NAMES})s?(?![\w-])"
    rf"|(?:self|args|cls|kwargs|config|settings|envs?|os|params)\.[\w.]{{1,80}}(?:[\s,)]|$)|[~.]?/[\w./-]{{1,200}}\.[a-z]{{2,5}}(?![\w/+=]))"
)
"""What stands in a value's place and is none: nothing, a variable, a placeholder, an attribute, a file."""
WORDS = ("key", "token", "secret", "pass")
_BASE64 = r"[A-Za-z0-9+/]"
KEY_WIDTH = 64


def named_value(found: re.Match[str]) -> str:
    """Return what stands for a name with its value: the same with a placeholder."""
    quote = found["quote"] or ""
    return found["keep"] + (
        "['<secret>']" if found["list"] else f"{quote}{found['cut'] or found['open'] or ''}<secret>{quote}"
    )


def _all_values(found: re.Match[str]) -> str:
    """Mask the values of an option that takes several, up to the next option: paths and prose after the first stay."""
    if found["next"] is None:
        words = [
            word if "/" in word or not any(map(str.isdigit, word)) else "<secret>" for word in found["rest"].split()
        ]
        return " ".join([found["keep"] + found["first"], *words])
    words = [word if "/" in word else "<secret>" for word in found["rest"].split()]
    return " ".join([found["keep"] + "<secret>", *words]) + found["next"]


RULES: tuple[tuple[tuple[str, ...], LazyPattern[str], _Replacement], ...] = (
    # By shape.
    (("hf_", "api_org_"), LazyPattern(r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}\b"), "<hf-token>"),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        LazyPattern(r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b"),
        "<github-token>",
    ),
    (
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glsoat-",
            "glagent-",
            "glimt-",
            "gloas-",
            "gr1348941",
        ),
        LazyPattern(r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w.-]{18,}|\bGR1348941[\w-]{18,}"),
        "<gitlab-token>",
    ),
    (("xox", "xapp-"), LazyPattern(r"\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{10,}"), "<slack-token>"),
    (
        ("hooks.slack", "api/webhooks/", "webhookb2/"),
        LazyPattern(
            r"(?P<keep>hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|\.office\.com/webhookb2/)"
            r"[\w@/-]{6,}"
        ),
        r"\g<keep><webhook>",
    ),
    # The token of a bot is also told without the word before it.
    (
        ("api.telegram", "bot", ":aa"),
        LazyPattern(r"\b(?P<keep>(?:bot)?)\d{6,12}:AA[\w-]{30,}"),
        r"\g<keep><telegram-token>",
    ),
    # A number in base64, a time, a signature. Nothing in it is always the same, so that a word beside it must lead there.
    (
        ("discord", "bot "),
        LazyPattern(r"\b[MNO][A-Za-z\d][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
        "<discord-token>",
    ),
    (("sk-",), LazyPattern(r"\bc?sk-(?:[a-z]+-)?[\w-]{16,}"), "<api-key>"),
    (
        ("nvapi-", "wandb-", "dckr_", "pypi-", "xai-", "pplx-", "nrak-", "pmak-", "tskey-", "glsa_", "ms-", "key-"),
        LazyPattern(
            r"\b(?:nvapi|wandb|dckr_[po]at|pypi|xai|pplx|NRAK|PMAK|tskey|tskey-auth)-[\w-]{16,}|\bdckr_[po]at_[\w-]{16,}|\bglsa_\w{20,}"
            r"|\bms-[0-9a-f]{8}-[0-9a-f-]{27}\b|\bkey-[0-9a-f]{32}\b"
        ),
        "<api-key>",
    ),
    (
        (
            "npm_",
            "gsk_",
            "r8_",
            "fw_",
            "rpa_",
            "tgp_",
            "lsv2_",
            "jina_",
            "pcsk_",
            "dop_",
            "doo_",
            "shp",
            "sntry",
            "sbp_",
            "lin_api_",
            "ntn_",
            "dapi",
            "atatt",
            "live_",
            "test_",
            "whsec_",
            "hvs.",
            "hvb.",
            "sg.",
            "age-secret",
        ),
        LazyPattern(
            r"\b(?:npm|gsk|r8|fw|rpa|jina|pcsk|sbp|lin_api|ntn|tgp_v1|lsv2_[a-z]{2}|do[op]_v1|shp(?:at|ca|pa|ss)|sntry[su])_[\w-]{20,}"
            r"|\bdapi[0-9a-f]{32}\b|\bATATT3[\w=-]{20,}|\b[sr]k_(?:live|test)_\w{10,}|\bwhsec_[\w+/=-]{20,}|\bhv[sb]\.[\w-]{20,}"
            r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"
        ),
        "<api-key>",
    ),
    # What this service issues (service/http/keys.py).
    (("vtk_",), LazyPattern(r"vtk_[\w-]{20,}"), "<api-key>"),
    (
        ("sk",),
        # Twilio: no word before it is needed; the digits keep words of a log apart.
        LazyPattern(r"\bSK(?=[a-f]{0,31}\d)[0-9a-f]{32}\b"),
        "<api-key>",
    ),
    (
        (
            "pscale_",
            "ezak",
            "eztk",
            "duffel_",
            "fio-u-",
            "flwseck",
            "figd_",
            "sq0",
            "xkeysib-",
            "sgp_",
            "pul-",
            "rubygems_",
            "tfp_",
            "shippo_",
            "sha256~",
            "pnu_",
            "rdme_",
            "ltai",
            "ops_eyj",
            "clojars_",
            "ccipat_",
            "bkua_",
            "hrku-",
            "akcp",
            "fm1",
            "fm2_",
            "oy2",
            "esecret_",
            "atlasv1",
            "cfpat-",
            "sk.eyj",
            "nfp_",
            "vercel_",
        ),
        LazyPattern(
            r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{32,}|\bEZ[AT]K[A-Za-z0-9]{54,}"
            r"|\bduffel_(?:test|live)_[\w=-]{43}|\bfio-u-[\w=-]{64}|\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}|\bfigd_[\w-]{20,}"
            r"|\bsq0(?:atp|csp|idp)-[\w-]{22,}|\bxkeysib-[0-9a-f]{64}-\w{16}|\bsgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"
            r"|\bpul-[0-9a-f]{40}|\brubygems_[0-9a-f]{48}|\btfp_[\w.=-]{40,}|\bshippo_(?:live|test)_[0-9a-f]{40}|\bsha256~[\w-]{43}"
            r"|\bpnu_[A-Za-z0-9]{36}|\brdme_[a-z0-9]{70}|\bLTAI[A-Za-z0-9]{20}\b|\bops_eyJ[\w+/=-]{40,}|\bCLOJARS_[a-z0-9]{60}"
            r"|\bCCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}|\bbkua_[0-9a-f]{40}|\bHRKU-[\w-]{36,}|\bAKCp[A-Za-z0-9]{60,}|\bfm(?:1[ar]|2)_[\w+/=-]{40,}"
            r"|\boy2[a-z0-9]{43}\b|\besecret_[a-z0-9]{24,}|\b[a-zA-Z0-9]{14}\.atlasv1\.[\w=-]{60,}"
            r"|\bCFPAT-[\w-]{43}|\bsk\.eyJ[\w-]{20,}\.[\w-]{20,}|\bnfp_[A-Za-z0-9]{36,}"
            r"|\bvercel_blob_rw_[\w-]{20,}"
        ),
        "<api-key>",
    ),
    # Words that logs have for other things: each with an expression that fails early.
    (("dp.",), LazyPattern(r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}"), "<api-key>"),
    (("eaa",), LazyPattern(r"\bEAA[A-Za-z0-9]{60,}"), "<api-key>"),
    (("secret_",), LazyPattern(r"\bsecret_[A-Za-z0-9]{43}\b"), "<api-key>"),
    (("-us",), LazyPattern(r"\b[0-9a-f]{32}-us\d{1,2}\b"), "<api-key>"),
    (("sl.",), LazyPattern(r"\bsl\.(?:u\.)?[\w-]{100,}"), "<api-key>"),
    (("akia", "asia", "abia", "acca"), LazyPattern(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"), "<aws-key-id>"),
    (
        ("ivyxdz", "iqojb3jpz2lu", "fqogzxivyxdz", "absk"),
        LazyPattern(rf"\b(?:(?:FwoGZXIvYXdz|FQoGZXIvYXdz|IQoJb3JpZ2lu|ABSK){_BASE64}{{40,}}={{0,2}})"),
        "<aws-token>",
    ),
    (
        ("aiza", "ya29.", "gocspx-", "aq.ab"),
        LazyPattern(r"\bAIza[\w-]{30,}|\bya29\.[\w.-]{16,}|\bGOCSPX-[\w-]{16,}|\bAQ\.Ab[\w-]{30,}"),
        "<google-key>",
    ),
    (("8q~",), LazyPattern(r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{30,}"), "<azure-secret>"),
    (
        ("eyj",),
        LazyPattern(r"\b(?:glc_)?eyJ[\w-]{8,}(?:\.eyJ[\w-]{8,}(?:\.[\w-]*)?|\.{1,2}[\w-]{16,}[\w.-]*)"),
        "<jwt>",
    ),
    (
        ("private key",),
        LazyPattern(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        "<private-key>",
    ),
    # A key without its frame, by its first bytes.
    (
        ("mii", "b3blbnnzac1r"),
        LazyPattern(rf"(?<!{_BASE64})(?:MII[A-Za-z]|b3BlbnNzaC1r){_BASE64}{{36,}}={{0,2}}"),
        "<private-key>",
    ),
    # The same once more in base64, as cluster configurations and manifests have it; certificates look alike, and go with it.
    (("ls0tls1crudjt",), LazyPattern(rf"(?<!{_BASE64})LS0tLS1CRUdJT{_BASE64}{{36,}}={{0,2}}"), "<private-key>"),
    (
        ("key-data",),
        LazyPattern(rf"(?P<keep>\bkey-data(?:{_QUOTE})?[ \t]*[:=][ \t]*(?:{_QUOTE})?){_BASE64}{{16,}}={{0,2}}"),
        r"\g<keep><private-key>",
    ),
    # By place: headers and addresses.
    (
        ("authorization",),
        LazyPattern(
            rf"(?i)(?P<keep>authorization(?:{_QUOTE})?[ \t]*[:=,][ \t]*b?(?:{_QUOTE})?(?:basic|bearer|digest|token|negotiate|ntlm|api-?key)[ \t]+)"
            r"(?!<)[^\s'\"\\]{4,}|"
            rf"(?P<bare>authorization(?:{_QUOTE})?[ \t]*[:=,][ \t]*b?(?:{_QUOTE})?)(?=[^\s'\"\\]{{0,80}}\d)[^\s'\"\\<]{{12,}}"
        ),
        lambda found: (found["keep"] or found["bare"]) + "<token>",
    ),
    (
        ("bearer",),
        LazyPattern(
            r"(?i:\b(?P<keep>bearer[ \t]+))(?i:(?!auth|token|scheme|realm|header|format|credential|required|missing|expected|invalid))[\w.~+/=-]{8,}"
        ),
        r"\g<keep><token>",
    ),
    (
        ("basic",),
        LazyPattern(rf"(?i:\b(?P<keep>basic[ \t]+))(?={_BASE64}{{0,200}}[0-9=]){_BASE64}{{12,}}={{0,2}}"),
        r"\g<keep><token>",
    ),
    (
        ("cookie",),
        LazyPattern(
            rf"(?i)(?P<keep>(?<![\w-])(?:set-|x-)?cookie(?:{_QUOTE})?[ \t]*[:=,][ \t]*b?(?:{_QUOTE})?)"
            r"[^\s;=,'\"\\<]{1,200}=[^\s;,'\"\\]{0,4096}(?:;[ \t]?[^\s;,'\"\\]{1,4096}){0,64}"
        ),
        r"\g<keep><cookie>",
    ),
    (
        ("://",),
        # A port and a path that an at sign follows are no password.
        LazyPattern(r"(?P<keep>://[^\s:/@'\"<>]{0,80}:)(?!\d{1,5}(?:[/?#,]|$)|<)[^\s'\"]{1,300}(?=@)"),
        r"\g<keep><password>",
    ),
    (("://",), LazyPattern(r"(?P<keep>://)[\w.~%+-]{16,400}(?=(?::[^\s/@'\"]{0,200})?@)"), r"\g<keep><token>"),
    (
        ("curl",),
        LazyPattern(r"(?P<keep>\bcurl [^\n|]{0,300}?(?:-u|--user)[ =]?['\"]?[^\s:'\"]{1,80}:)(?!<)[^\s'\"]{1,200}"),
        r"\g<keep><password>",
    ),
    (("sshpass",), LazyPattern(r"(?P<keep>\bsshpass[ \t]+-p[ \t]*['\"]?)(?!<)[^\s'\"]{1,200}"), r"\g<keep><password>"),
    (
        ("login",),
        LazyPattern(r"(?P<keep>\blogin[ \t]+\S{1,80}[ \t]+password[ \t]+)(?!<)\S{1,200}"),
        r"\g<keep><password>",
    ),
    (('"auth',), LazyPattern(rf"(?P<keep>\"auth\\?\"[ \t]*:[ \t]*\\?\"){_BASE64}{{8,}}={{0,2}}"), r"\g<keep><token>"),
    # By name, where _NAMED does not reach: further values of an option that takes several.
    (
        ("key", "token"),
        LazyPattern(
            r"(?P<keep>--api-keys?[= ])(?P<first>(?!-)\S{1,400})(?P<rest>(?:[ \t]+(?![-|&;<>\\])[^\s|&;<>'\"]{1,400}){1,20})(?P<next>[ \t]+--?[a-z])?"
        ),
        _all_values,
    ),
    (
        ("key",),
        LazyPattern(
            r"(?P<keep>--api-keys?(?P<quote>['\"]),[ \t]*(?P=quote)[^'\"\n]{1,400}(?P=quote))"
            r"(?:,[ \t]*(?P=quote)(?![-<])[^'\"\n]{1,400}(?P=quote)){1,20}"
        ),
        r"\g<keep>, \g<quote><secret>\g<quote>",
    ),
    # An exported variable ends where its word does.
    (
        ("token", "secret", "pass", "_key"),
        LazyPattern(
            rf"(?<![A-Za-z0-9_-])(?P<keep>(?:[A-Z][A-Z0-9]{{0,40}}_){{0,8}}(?:TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|(?:ACCESS|PRIVATE|API|SECRET)_KEY)"
            rf"(?:{_QUOTE}[ \t]*[:,][ \t]*{_QUOTE}|=(?:{_QUOTE})?))(?!value){_NO_VALUE}[^\s'\"\\]{{3,}}[^\s'\"\\,;)\]}}]"
        ),
        r"\g<keep><secret>",
    ),
    (
        ("pwd",),
        LazyPattern(
            r"(?P<keep>(?<![A-Za-z])(?:pwd|Pwd)(?:\\{0,3}['\"])?[ \t]*[=:][ \t]*['\"]?)(?![~/.$<])[^\s'\",;&)]{4,}"
        ),
        r"\g<keep><secret>",
    ),
    (
        ("token",),
        LazyPattern(
            rf"(?i)(?P<keep>(?<![\w-])token(?:{_QUOTE})?[ \t]*[=:][ \t]*b?(?:{_QUOTE})?)(?=[\w.~+/=-]{{0,80}}\d)(?=[\w.~+/=-]{{0,80}}[a-z])[\w.~+/=-]{{20,}}"
        ),
        r"\g<keep><secret>",
    ),
    (
        ("name",),
        # A variable in a manifest: {"name": "HF_TOKEN", "value": "X"}, name: HF_TOKEN, value: X
        LazyPattern(
            rf"(?P<keep>\bname(?:{_QUOTE})?[=:][ \t]*(?:{_QUOTE})?(?:[A-Z][A-Z0-9]{{0,40}}_){{0,8}}(?:TOKEN|SECRET|PASSWORD|KEY)(?:{_QUOTE})?,?[ \t]*"
            rf"(?:{_QUOTE})?value(?:{_QUOTE})?[=:][ \t]*(?:{_QUOTE})?)(?![<$])[^\s'\",}}\\]{{4,}}"
        ),
        r"\g<keep><secret>",
    ),
    (
        ("env",),
        LazyPattern(
            rf"(?P<keep>\b(?:ENV|env|setenv)[ \t]+(?:[A-Z][A-Z0-9]{{0,40}}_){{0,8}}(?:TOKEN|SECRET|PASSWORD|(?:ACCESS|API|SECRET)_KEY)[ \t]+)"
            rf"{_NO_VALUE}[^\s'\"]{{4,}}"
        ),
        r"\g<keep><secret>",
    ),
    (
        # In pairs, as headers are dumped: (b'x-api-key', b'X').
        WORDS,
        LazyPattern(
            rf"(?i)(?P<keep>[(\[]b?{_QUOTE}[\w-]{{0,60}}?(?:{NAMES}){_QUOTE},[ \t]*b?{_QUOTE})(?!<)[^'\"\\\n]{{4,2000}}(?=\\?['\"][)\]])"
        ),
        r"\g<keep><secret>",
    ),
    (
        ("?", "&", "amp;"),
        LazyPattern(
            r"(?P<keep>(?:[?&]|&amp;|\\u0026)(?i:X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential)|Signature|sig|(?:[a-z]{1,20}_)?token|"
            r"(?:api_?|subscription-|client_)?key|password|passwd|pwd|secret|client_secret|auth|Policy|AWSAccessKeyId|Key-Pair-Id)=)(?!<)[^&\s'\"<>\\]{6,}"
        ),
        r"\g<keep><signature>",
    ),
)
# A line from within a key is as long as the lines of key files are.
KEY_LINE = LazyPattern(
    rf"(?:(?<![\w+/=.-])|(?<=\\n))(?={_BASE64}{{0,60}}?[0-9])(?={_BASE64}{{0,60}}?[A-Z])(?={_BASE64}{{0,60}}?[a-z])"
    rf"(?:{_BASE64}{{64}}|{_BASE64}{{70}}|{_BASE64}{{76}})(?![\w+/-])"
)
NAMED_HINT = LazyPattern(
    r"(?:key|token|secret|pass(?:word|wd|[_-]?phrase)?)s?(?:[ \t]provided)?(?:\\{0,3}['\"])?[ \t]*[=:]"
    r"|--[a-z0-9_-]{0,60}(?:keys?|token|secret|pass(?:word|wd|phrase)?)(?![a-z0-9_-])"
)
"""Where it finds nothing in a text in small letters, no name stands before a value: much cheaper than looking for names."""
NAMED_VALUE = LazyPattern(
    rf"(?P<keep>{_NAMED})(?:"
    r"(?P<list>\[(?!\\?['\"]?<secret>|\])[^\]\n]{1,2000}\])"
    rf"|(?P<quote>{_QUOTE})(?!<[|/\w-]{{1,40}}>|(?:None|\*+)?(?P=quote))(?:(?!(?P=quote)|\n).){{1,2000}}(?P=quote)"
    # A line that was cut before the closing quote.
    rf"|(?P<cut>\[?{_QUOTE})(?!<)[^'\"\\\n]+$"
    rf"|(?P<open>(?:\[?{_QUOTE}|\[)?){_NO_VALUE}[^\s'\",;&\[\])}}\\]{{4,}})"
)
