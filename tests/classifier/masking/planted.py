"""Secrets to plant in logs, by kind: the text that holds one, and the part that must not come out.

Written in parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

A = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9n"
_KEY = "MIIEpAIBAAKCAQEA" + A + "0123+/ab"
_BODY = "q7" + A[:30] + A[8:40]
_HEX = "0123456789abcdef0123456789abcdef"
_LOWER = A.lower()

SECRETS: dict[str, list[tuple[str, str]]] = {
    "hugging face": [(f"hf_{A}", A), (f"api_org_{A}", A), (f"huggingface-cli login --token {A}", A)],
    "openai": [(f"sk-proj-{A}", A), (f"Incorrect API key provided: {A}", A)],
    "other models": [
        (f"sk-ant-api03-{A}", A),
        (f"gsk_{A}", A),
        (f"xai-{A}", A),
        (f"pplx-{A}", A),
        (f"r8_{A}", A),
        (f"fw_{A}", A),
        (f"nvapi-{A}", A),
        (f"tgp_v1_{A}", A),
        (f"csk-{_LOWER}", _LOWER),
        (f"jina_{A}", A),
    ],
    "tracking": [(f"WANDB_API_KEY={_HEX}", _HEX), (f"lsv2_pt_{A}", A), (f"glsa_{A}", A), (f"dapi{_HEX}", _HEX)],
    "aws": [("AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"), (f"AWS_SECRET_ACCESS_KEY={A}", A)],
    "aws session": [
        (f"aws_session_token = {A}", A),
        (f"https://b.example/m?X-Amz-Security-Token={A}&x=1", A),
        ("IQoJb3JpZ2lu" + A + A, A),
    ],
    "github": [(f"ghp_{A}", A), (f"github_pat_11AAAAAAA0{A}", A)],
    "gitlab": [(f"glpat-{A}", A), (f"glrt-{A}", A)],
    "slack": [(f"xoxb-123456789012-{A}", A), (f"xoxe.xoxp-1-{A}", A)],
    "slack app": [(f"xapp-1-A0123456789-1-{A}", A), (f"https://hooks.slack.com/services/T0/B0/{A}", A)],
    "chat": [
        (f"https://discord.com/api/webhooks/123456789/{A}", A),
        (f"https://api.telegram.org/bot123456789:AA{A}/send", A),
        (f"https://acme.webhook.office.com/webhookb2/{A}", A),
    ],
    "registry": [(f"npm_{A}", A), (f"pypi-AgEI{A}", A), (f"dckr_pat_{A}", A), (f'{{"auth": "{A}=="}}', A)],
    "payment and mail": [(f"sk_live_{A}", A), (f"rk_test_{A}", A), (f"whsec_{A}", A), (f"SG.{A}.{A}", A)],
    "vault": [(f"hvs.{A}", A), (f"X-Vault-Token: {A}", A), (f"AGE-SECRET-KEY-1{A.upper()}", A.upper())],
    "gcp": [(f"AIza{A[:35]}", A[:35])],
    "gcp access": [(f"ya29.{A}", A), (f"GOCSPX-{A}", A)],
    "azure": [
        (f"AZURE_CLIENT_SECRET={A}", A),
        (f"https://a.blob.example/m?sv=1&sig={A}", A),
        (f"abc8Q~{A[:34]}", A[:34]),
        (f"Ocp-Apim-Subscription-Key: {A}", A),
    ],
    "azure account": [
        (f"AccountName=acme;AccountKey={A}==;EndpointSuffix=core", A),
        (f"Endpoint=sb://a.example/;SharedAccessKeyName=n;SharedAccessKey={A}=", A),
    ],
    "signed URL": [
        (f"https://s.example/o?X-Goog-Signature={A}", A),
        (f"https://c.example/o?Expires=1&Policy=x&Signature={A}&Key-Pair-Id=K", A),
        (f"https://c.example/o?a=b&amp;token={A}", A),
    ],
    "jwt": [(f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{A}", A)],
    "basic auth in a URL": [(f"https://alice:{A}@models.example/x", A), (f"https://alice:{A}/x@h.example/", A)],
    "basic auth in a header": [
        (f"Authorization: Basic {A}==", A),
        (f"{{'authorization': 'Basic {A}=='}}", A),
        (f"curl -sS -u alice:{A} http://h", A),
    ],
    "token in a URL": [
        (f"https://{A}@git.example/x", A),
        (f"https://a:b@{A}@h.example/", A),
        (f"https://{A}:x-oauth-basic@git.example/", A),
    ],
    "password": [(f"password={A}", A), (f"password: '{A}'", A), (f"?user=u&password={A}", A), (f"sshpass -p {A} ssh", A)],
    "passphrase": [(f"passphrase={A}", A), (f"pwd={A}", A)],
    "machine file": [(f"machine h.example login alice password {A}", A)],
    "private key": [
        (f"-----BEGIN RSA PRIVATE KEY----- {_KEY} -----END RSA PRIVATE KEY-----", _KEY),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{A}\\n-----END OPENSSH PRIVATE KEY-----", A),
    ],
    "private key in lines": [(f"-----BEGIN PRIVATE KEY-----\n{_KEY}\n-----END PRIVATE KEY-----", _KEY)],
    "line of a private key": [(_KEY, _KEY), (_BODY, _BODY)],
    "bearer header": [(f"Authorization: Bearer {A}", A), (f"(b'authorization', b'Bearer {A}')", A)],
    "other headers": [
        (f"(b'x-api-key', b'{A}')", A),
        (f"X-Auth-Token: {A}", A),
        (f"Authorization: {A}", A),
        (f"Proxy-Authorization: Token {A}", A),
    ],
    "cookie": [(f"Cookie: session={A}; b=c", A), (f"Set-Cookie: sid={A}; HttpOnly", A), (f"{{'cookie': 'a=b; s={A}'}}", A)],
    "database URL": [(f"postgresql+psycopg://triage:{A}@db.example:5432/x", A), (f"redis://:{A}@c:6379/0", A)],
    "API key in a flag": [
        (f"vllm serve acme/harbor --api-key {A}", A),
        (f"vllm serve acme/harbor --api-key={A} --port 1", A),
        (f"'api_key': ['x', '{A}']", A),
        (f"vllm serve acme/harbor --hf-token {A}", A),
    ],
    "API keys in a flag": [
        (f"vllm serve acme/harbor --api-key first-of-them {A} --port 1", A),
        (f"['vllm', 'serve', '--api-key', 'first-of-them', '{A}', '--port']", A),
    ],
    "API key in a variable": [
        (f"VLLM_API_KEY={A} NGC_API_KEY={A}", A),
        (f'"HF_TOKEN": "{A}"', A),
        (f"export ACME_MODEL_TOKEN='{A}'", A),
        (f"ENV HF_TOKEN {A}", A),
    ],
    "variable in a manifest": [
        (f'{{"name":"HF_TOKEN","value":"{A}"}}', A),
        (f"HF_TOKEN: {A}", A),
        (f"apiKey: {A}", A),
        (f'{{\\"clientSecret\\": \\"{A}\\"}}', A),
    ],
}  # fmt: skip
