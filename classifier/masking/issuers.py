"""The shapes of what issuers of tokens and keys give out: what is known by its own form, whatever stands around it.

Shapes are facts, looked up in what issuers document and in the rules of gitleaks and detect-secrets; words and expressions are ours.
"""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

_BASE64 = r"[A-Za-z0-9+/]"
_HEX = r"[0-9A-Fa-f]"

SHAPES: tuple[tuple[str, str, LazyPattern[str]], ...] = tuple(
    (words, placeholder, LazyPattern(pattern))
    for words, placeholder, pattern in (
        ("hf_ api_org_", "hf-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}\b"),
        ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", "github-token", r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b"),
        (
            "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glffct- glsoat- glagent- glimt- gloas- gr1348941", "gitlab-token",
            r"\bgl(?:pat|dt|rtr?|cbt|ptt|ft|ffct|soat|agent|imt|oas)-[\w.-]{18,}|\bGR1348941[\w-]{18,}",
        ),
        ("xox xapp-", "slack-token", r"\b(?i:xox[a-z](?:[.\w]xox[a-z])?|xapp)-[\w-]{8,}"),
        ("sk- tk-us-", "api-key", r"\bc?sk-(?:[a-z]+-)?[\w-]{16,}|\btk-us-[\w-]{40,}"),
        (
            "nvapi- wandb- wandb_v dckr_ pypi- xai- pplx- nrak- nrii- pmak- tskey- glsa_ ms- key- ico- p8e- s-s4t2 api- a3-", "api-key",
            (r"\b(?:nvapi|wandb|dckr_[po]at|pypi|xai|pplx|NRAK|NRII|PMAK|tskey|tskey-auth)-[\w-]{16,}|\bdckr_[po]at_[\w-]{16,}|\b(?i:glsa_)\w{20,}"
            r"|\bwandb_v\d_\w{20,}|\bms-[0-9a-f]{8}-[0-9a-f-]{27}\b|\bkey-[0-9a-f]{32}\b|\bico-[A-Za-z0-9]{32}\b|\bp8e-[A-Za-z0-9]{32}\b"
            rf"|\bs-s4t2(?:ud|af)-{_HEX}{{64}}|\bAPI-[A-Z0-9]{{26}}\b|\bA3-[A-Z0-9]{{6}}-[A-Z0-9-]{{20,32}}"),
        ),
        (
            ("npm_ gsk_ r8_ fw_ rpa_ tgp_ lsv2_ jina_ pcsk_ dop_ doo_ dor_ shp sntry sbp_ lin_api_ ntn_ dapi atatt live_ test_ prod_ whsec_ hvs. hvb. sg. "
            "age-secret"), "api-key",
            (r"\b(?i:npm|gsk|r8|fw|rpa|jina|pcsk|sbp|lin_api|ntn|tgp_v1|lsv2_[a-z]{2}|do[opr]_v1|shp(?:at|ca|pa|ss)|sntry[su])_[\w+/=-]{20,}"
            r"|\bdapi[0-9a-f]{32}\b|\bATATT3[\w=-]{20,}|\b[sr]k_(?:live|test|prod)_\w{10,}|\bwhsec_[\w+/=-]{20,}|\bhv[sb]\.[\w-]{20,}"
            r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bSG\.[\w=.-]{60,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
        ),
        # What this service issues (service/http/keys.py).
        ("vtk_", "api-key", r"vtk_[\w-]{20,}"),
        # Twilio: no word before it is needed; the digits keep words of a log apart.
        ("sk", "api-key", rf"\bSK(?=[A-Fa-f]{{0,31}}\d){_HEX}{{32}}\b"),
        (
            ("pscale_ ezak eztk duffel_ fio-u- flwseck flwpubk figd_ sq0 xkeysib- xsmtpsib- sgp_ pul- rubygems_ tfp_ shippo_ sha256~ pnu_ rdme_ ltai ops_eyj "
            "clojars_ ccipat_ bkua_ hrku- akcp cmvmd fm1 fm2_ fo1_ oy2 esecret_ atlasv1 cfpat- sk.eyj nfp_ vercel_ sm_aat_ sm_pat_ sm_sat_ dt0c01. _mmk"), "api-key",
            (r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{32,}|\bEZ[AT]K[A-Za-z0-9]{54,}"
            r"|\bduffel_(?:test|live)_[\w=-]{43}|\bfio-u-[\w=-]{64}|\bFLW(?:SECK|PUBK)(?:_TEST)?-[A-Za-z0-9]{12,}|\bfigd_[\w-]{20,}"
            r"|\bsq0(?:atp|csp|idp)-[\w-]{22,}|\bx(?:key|smtp)sib-[0-9a-f]{64}-\w{16}|\b(?i:sgp)_(?:[0-9A-Fa-f]{16}_|local_)?[0-9A-Fa-f]{40}"
            rf"|\bpul-[0-9a-f]{{40}}|\brubygems_[0-9a-f]{{48}}|\btfp_[\w.=-]{{40,}}|\bshippo_(?:live|test)_{_HEX}{{40}}|\bsha256~[\w-]{{43}}"
            r"|\bpnu_[A-Za-z0-9]{36}|\brdme_[a-z0-9]{70}|\bLTAI[A-Za-z0-9]{20}\b|ops_eyJ[\w+/=-]{40,}|\b(?i:CLOJARS_[a-z0-9]{60})"
            r"|\bCCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}|\bbkua_[0-9a-f]{40}|\bHRKU-[\w-]{36,}|\bAKCp[A-Za-z0-9]{60,}|\bcmVmd[A-Za-z0-9]{59}\b"
            r"|\bf(?:m1[ar]|m2|o1)_[\w+/=-]{40,}|\boy2[a-z0-9]{43}\b|\besecret_[a-z0-9]{24,}|\b[a-zA-Z0-9]{14}\.atlasv1\.[\w=-]{60,}"
            r"|\bCFPAT-[\w-]{43}|\bsk\.eyJ[\w-]{20,}\.[\w-]{20,}|\bnfp_[A-Za-z0-9]{36,}|\bvercel_blob_rw_[\w-]{20,}|\bsm_[aps]at_[A-Za-z0-9]{16}"
            r"|\bdt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}|\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
        ),
        # Words that logs have for other things: each with an expression that fails early.
        ("dp.", "api-key", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}"),
        ("eaa", "api-key", r"\bEAA[A-Za-z0-9]{60,}|\bEAAA[\w-]{22,60}"),
        ("secret_", "api-key", r"\bsecret_[A-Za-z0-9]{43}\b"),
        ("-us", "api-key", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
        ("sl.", "api-key", r"\bsl\.(?:u\.)?[\w-]{100,}"),
        ("pat", "api-key", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
        ("pat. sat.", "api-key", r"\b[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
        (".acc", "api-key", r"\b(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[\w+/=-]{30,}"),
        ("4b1d", "api-key", r"\b4b1d[A-Za-z0-9]{38}\b"),
        ("v1.0-", "api-key", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
        ("s.", "api-key", r"(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}\b"),
        # An application's number and its secret.
        ("| %7c", "api-key", r"\b\d{15,16}(?:\||%7[Cc])[\w-]{27,40}(?![\w-])"),
        ("akia asia abia acca a3t", "aws-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b"),
        (
            "ivyxdz iqojb3jpz2lu fqogzxivyxdz absk bedrock-api-key-", "aws-token",
            rf"\b(?:(?:FwoGZXIvYXdz|FQoGZXIvYXdz|IQoJb3JpZ2lu|ABSK){_BASE64}{{40,}}={{0,2}})|bedrock-api-key-{_BASE64}{{20,}}={{0,2}}",
        ),
        ("aiza ya29. gocspx- aq.ab", "google-key", r"\bAIza[\w-]{30,}|\bya29\.[\w.-]{16,}|\bGOCSPX-[\w-]{16,}|\bAQ\.Ab[\w-]{30,}"),
        (" ".join(f"{digit}q~" for digit in range(10)), "azure-secret", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{30,}"),
        ("glc_", "api-key", r"\b(?i:glc)_[A-Za-z0-9+/]{32,}={0,3}"),
        (
            "eyj", "jwt",
            r"\b(?:glc_)?(?i:eyJ)[\w-]{8,}(?:\.ey[\w-]{8,}(?:\.[\w-]*)?|\.{1,2}[\w-]{16,}[\w.-]*)|\b(?i:eyJrIjoi)[A-Za-z0-9]{70,}={0,3}",
        ),
        ("zxlk", "jwt", r"\bZXlK[\w+/-]{40,}={0,2}"),
        # A key without its frame, by its first bytes.
        ("mii b3blbnnzac1r", "private-key", rf"(?<!{_BASE64})(?:MII[A-Za-z]|b3BlbnNzaC1r){_BASE64}{{36,}}={{0,2}}"),
        # The same once more in base64, as cluster configurations and manifests have it; certificates look alike, and go with it.
        ("ls0tls1crudjt", "private-key", rf"(?<!{_BASE64})LS0tLS1CRUdJT{_BASE64}{{36,}}={{0,2}}"),
    )
)  # fmt: skip
"""Words in small letters, of which one stands in every text that the expression finds; what is shown instead; the expression."""
