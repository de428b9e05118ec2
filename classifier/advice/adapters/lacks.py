"""What vLLM's release, or transformers', lacks for a model, as the error says it: a class, an interface, a model type, a weight's name."""

from __future__ import annotations

import re

from ....corpus import architectures, model_types
from ....corpus.options import releases, version_key
from ....corpus.records import Record, record
from ....corpus.weight_names import first_naming
from ...facts.versions import in_range
from ...patterns.lazy import LazyPattern
from ..signs import plugin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

_UNKNOWN = LazyPattern(
    r"Model architectures? \[?(?P<listed>['\"]?\w[\w, '\"]{0,400}?)\]? (?:are|is) not supported (?:for now|by ROCm)|"
    r"\b(?P<untold>\w{1,100}) has no vLLM implementation and the Transformers implementation is not compatible|"
    r"The Transformers implementation of '?(?P<backend>\w{1,100})'? is not compatible|"
    r"Cannot find model module\. '?(?P<module>\w{1,100})'? is not a registered model"
)
CONFIG = LazyPattern(r"'(?P<stem>[A-Z]\w{2,60}?)(?:Text)?Config' object has no attribute")
"""A configuration without a field that vLLM reads: one whose model the release does not know has it elsewhere."""
_REFUSED = (
    ("SupportsLoRA", "LoRA adapters", LazyPattern(
        r"(?:\b(?P<cls>(?!Model\b)\w{1,80})|<class '[\w.]{1,200}?(?P<path>\w{1,80})'>|\bModel|modeling) (?:does not support LoRA(?: yet\b|, but)|is not supported for LoRA)|No supported LoRA modules found in (?P<cls2>\w{1,80})"
    )),
    ("SupportsPP", "pipeline parallelism", LazyPattern(r"Pipeline parallelism is (?:not supported for this model|only supported for the following)")),
    ("SupportsEagle3", "EAGLE3 heads", LazyPattern(r"Model does not support EAGLE3")),
    ("SupportsTranscription", "transcriptions", LazyPattern(r"model does not support (?:the )?(?:Transcriptions?|Translations?) API")),
    ("SupportsMRoPE", "M-RoPE", LazyPattern(r"M-RoPE support is not implemented")),
)  # fmt: skip
"""Interfaces that vLLM asks a model's class for, what each is for, and the words that refuse a class without."""
_MODELS = LazyPattern(r"vllm/model_executor/models/(?P<name>\w+)\.py:")
_NO_MODELS = frozenset({"interfaces", "interfaces_base", "registry", "utils", "adapters", "vision", "__init__", "config", "module_mapping"})  # fmt: skip
_OF_MODEL = LazyPattern(r"\w{1,120}(?:ForCausalLM|ForConditionalGeneration|Model|LMHeadModel|For\w+)")
_FALLEN = LazyPattern(r"\b(?P<name>\w{1,100}) has no vLLM implementation, falling back to Transformers")
_FALLEN_SIGN = "has no vLLM implementation, falling back"
_BACKEND = LazyPattern(r"vllm/model_executor/models/transformers(?:/\w+)?\.py:|\bTransformers\w*For\w+")
"""Frames of the Transformers backend, and its classes."""
_UNKNOWN_TYPE = LazyPattern(
    r"model type `?'?(?P<type>[\w.\-]{1,80}?)'?`? but Transformers does not recognize this architecture"
)
_TYPE_KEY = LazyPattern(r"^KeyError: '(?P<type>[\w.\-]{1,80})'\s*$", re.MULTILINE)
_MAPPING = "transformers/models/auto/configuration_auto.py"
_HEADS = r"(?:for(?:causallm|conditionalgeneration|sequenceclassification)|model|lmheadmodel)"
_WEIGHT = LazyPattern(
    r"^KeyError: ['\"](?P<key>[\w.\-]{3,200})['\"]|There is no module or parameter named ['\"]?(?P<name>[\w.\-]{3,200})['\"]? in (?P<cls>\w{1,100})",
    re.MULTILINE,
)
_LOADER = LazyPattern(r"vllm/model_executor/models/(?P<name>[\w/]+)\.py:(?:_?load_|.*params_dict\[)")
_FALLBACK = LazyPattern(r"Transformers\w*(?:Model|For\w+)")
"""vLLM's classes for models that it has no class of its own for."""
_MODULE = LazyPattern(r"belonging to \S{1,300} \((?P<type>[A-Z]\w{2,100})")
_FAMILY = LazyPattern(r"[A-Z][a-z]+\d*")


@record(frozen=True)
class Lack(Record):
    """What a release lacks for a model."""

    names: tuple[str, ...]
    """Architectures, any of which would do."""
    interface: str = ""
    """That the class lacks; "" where there is no class."""
    use: str = ""
    """What the interface is for."""


@record(frozen=True)
class Need(Record):
    """What a model type takes.

    Attributes:
        model_type: As config.json has it.
        transformers: The releases that know it, oldest first; empty where none does.
        architectures: Of vLLM, by the type's name; empty where no release has one of this name.
    """

    model_type: str
    transformers: tuple[str, ...]
    architectures: tuple[str, ...]

    def allowed(self, release: str) -> str:
        """Return the first release of transformers that knows the type and that a release of vLLM allows; "" where none."""
        asked = model_types.asked_by(release)
        return next((version for version in self.transformers if in_range(version, asked)), "") if asked else ""

    def served(self, release: str) -> bool | None:
        """Return whether a release of vLLM serves the model; None where no release has an architecture of the type's name."""
        return any(architectures.serves(name, release) for name in self.architectures) if self.architectures else None


def lack_in(context: Context) -> Lack | None:
    """Return what the error says that this release lacks for the model; None where it says something else, or names no model."""
    text = context.case.text
    if found := _UNKNOWN.search(text):
        listed = found["listed"] or found["untold"] or found["backend"] or found["module"]
        return Lack(tuple(dict.fromkeys(re.findall(r"\w+", listed))))
    for interface, use, words in _REFUSED:
        if told := words.search(text):
            groups = told.groupdict()
            cls = groups.get("cls") or groups.get("path") or groups.get("cls2") or ""
            names = _served_by(cls) if cls else in_use(context)
            return Lack(names, interface, use) if names else None
    names = _of_config(found["stem"], context.release) if (found := CONFIG.search(text)) else ()
    return Lack(names) if names else None


def _of_config(stem: str, release: str) -> tuple[str, ...]:
    """Return the architectures that go with a configuration's class, where a later release serves them and this one serves none."""
    kinds = re.compile(rf"{re.escape(stem)}(?:Thinker)?(?:For[A-Z]\w+|Model)")
    names = tuple(name for name in architectures.names() if kinds.fullmatch(name))
    return () if any(architectures.serves(name, release) is not False for name in names) else names


def _served_by(cls: str) -> tuple[str, ...]:
    """Return the architectures of a class; its own name where no release has the class, and nothing for what is no model's."""
    found = architectures.of_class(cls)
    return found[:1] if found else ((cls,) if _OF_MODEL.fullmatch(cls) else ())


def in_use(context: Context, all_of_file: bool = False) -> tuple[str, ...]:
    """Return the architecture that the log says was loaded: by vLLM's own line, or by the frames of its file."""
    told = context.facts.get("architecture")
    if isinstance(told, str) and told:
        return (told,)
    stack = context.stack
    files = [file for file in _MODELS.made.findall(stack) if file not in _NO_MODELS]
    found = architectures.of_module(files[-1], context.release) if files else ()
    return found if all_of_file else found[:1]


def fallen_back(context: Context) -> str:
    """Return the architecture on which the Transformers backend failed, and for which a later release has a class of its own.

    Args:
        context: Of the failed start; "" where the error is another part's, or where no later release has such a class.
    """
    trace = context.trace
    if trace is None or not _BACKEND.search(f"{trace.stack()}\n{trace.message}"):
        return ""
    found = _FALLEN.search(context.words) if _FALLEN_SIGN in context.words else None
    told = context.facts.get("architecture")
    name = found["name"] if found else told if isinstance(told, str) else ""
    if not name or has_class(name, "", context.release):
        return ""
    return name if first_with(name, "", context.release, has=False) else ""


def has_class(name: str, interface: str, release: str) -> bool:
    """Return whether a release has a class for an architecture, with an interface where one is named."""
    found = architectures.model_class(name, release)
    return found is not None and (not interface or interface in found.interfaces)


def first_with(name: str, interface: str, release: str, has: bool) -> str:
    """Return the first release, later than the log's, that has it; where the log does not tell its own, the first of the last run."""
    if not has:
        return architectures.first_serving(name, release, interface)
    runs = [version for version in architectures.releases() if not has_class(name, interface, version)]
    return architectures.first_serving(name, runs[-1] if runs else "", interface)


def need_in(context: Context) -> Need | None:
    """Return what the model type takes that the error says transformers does not know; None where it names none."""
    found = _UNKNOWN_TYPE.search(context.case.text)
    if found is None and context.trace is not None and _MAPPING in context.trace.stack():
        found = _TYPE_KEY.search(context.case.text)
    if found is None:
        return None

    kind = found["type"]
    plain = re.sub(r"\W|_", "", kind).lower()
    named = tuple(name for name in architectures.names() if re.fullmatch(plain + _HEADS, name.lower().replace("_", "")))
    return Need(kind, tuple(model_types.transformers_with(kind)), named)


def weight_named(context: Context) -> tuple[str, str, str] | None:
    """Return the release that knows the weight, the architecture that later ones gave up, or "", and the reason."""
    found = _WEIGHT.search(context.case.text)
    if found is None or plugin_of(context):
        return None
    cls = found["cls"] or ""
    return _of_fallback(context) if _FALLBACK.fullmatch(cls) else _of_files(found["key"] or found["name"], cls, context)


def _of_files(weight: str, cls: str, context: Context) -> tuple[str, str, str] | None:
    """Return the release whose model file names the weight, the architecture that the file serves, and the reason."""
    stack = context.stack
    files = list(dict.fromkeys(_LOADER.made.findall(stack)))
    if not files and cls and (model := architectures.model_class(cls, context.release)) is not None:
        files = [model.module]
    after = context.release if context.told or context.release != releases()[-1] else ""
    named = [(*told, file) for file in files if (told := first_naming(file, weight, after)) is not None]
    if not named:
        return None
    release, part, file = max(named, key=lambda each: version_key(each[0]) or ())
    served = architectures.of_module(file, _before(release))
    # A file holds several: as long as one of them is served, that may be the one.
    gone = served[0] if served and all(map(architectures.served_until, served)) else ""
    if gone and (version_key(architectures.served_until(gone)) or ()) < (version_key(release) or ()):
        return None
    return release, gone, f"vllm/model_executor/models/{file}.py names {part} from {release} on."


def _before(release: str) -> str:
    known = architectures.releases()
    return known[max(0, known.index(release) - 1)] if release in known else release


def _of_fallback(context: Context) -> tuple[str, str, str] | None:
    """Return the first release with a class of its own for a model that vLLM ran by transformers' code."""
    module = _MODULE.search(context.text)
    family = _FAMILY.match(module["type"]) if module is not None else None
    if family is None:
        return None
    named = [name for name in architectures.names() if re.match(rf"{family[0]}(?=For)", name)]
    firsts = [release for name in named if (release := architectures.first_serving(name))]
    if not firsts:
        return None
    release = min(firsts, key=lambda each: version_key(each) or ())
    told = version_key(context.told) if context.told else None
    if told is not None and told >= (version_key(release) or ()):
        return None
    why = f"{family[0]} ran by transformers' code here, for which vLLM has no names of weights; from {release} on it has a class of its own."
    return release, "", why
