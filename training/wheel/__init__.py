"""What a wheel holds ready made: the compiled corpus, all expressions, and the rows that a user's model is held against.

``setup.py`` runs it while the folders stand side by side and nothing is installed.
"""

from __future__ import annotations

import gc
import marshal
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from ...classifier.clues import BY_LINE
from ...classifier.matching import plan
from ...classifier.patterns import precompiled
from ...classifier.patterns.lazy import LazyPattern
from ...classifier.values import marked
from ...corpus import guards, store
from ...corpus.compiler import compile_corpus
from ...corpus.frames import parts
from ..examples.row import write_rows
from ..text_model.rows.dataset import rows_beside
from ..user_model.negatives import SHIPPED

ROOT = Path(__file__).resolve().parents[2]


def write(built: Path) -> None:
    """Write all of it into a package that is being built."""
    compiled = built / "corpus" / "compiled"
    compile_corpus(ROOT / "corpus", compiled)
    (compiled / "values.marshal").write_bytes(marshal.dumps(marked()))
    # The corpus that was compiled just now serves from here on; reading the rule files again would take seconds.
    store.HERE = str(compiled.parent)
    precompiled.write(compiled / "patterns.marshal", expressions())
    samples = sorted((ROOT / "corpus" / "logs" / "written").glob("*.log"))
    rules = store.load().rules
    assert not isinstance(rules, list), "read from rule files"  # noqa: S101
    plan.write(rules, b"".join(path.read_bytes() for path in samples))
    write_rows(built / "training" / "user_model" / SHIPPED.name, rows_beside(()))


def expressions() -> list[tuple[str | bytes, int]]:
    """Return source and flags of every lazy expression of the classifier, by importing all of its modules, and of the corpus."""
    package = __name__.partition(".")[0]
    for module in sorted((ROOT / "classifier").rglob("*.py")):
        name = ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        # A build without run-time dependencies: what is missing compiles at run time.
        with suppress(ImportError):
            import_module(f"{package}.{name}")
    lazy = (each for each in gc.get_objects() if isinstance(each, LazyPattern))
    found = {(each._source, int(each._flags)) for each in lazy}  # noqa: SLF001 - only the build asks
    rows = guards.read_guards(ROOT / "corpus" / "guards.toml")
    found |= {(row[name], guards.flags_of(name)) for row in rows for name in guards.EXPRESSIONS if name in row}
    corpus = store.load()
    found |= {(text, 0) for clue in corpus.clues() for text in (clue.words, clue.log, clue.unless)}
    found |= {(clue.frames, BY_LINE) for clue in corpus.clues()}
    fixes = [fix for name in corpus.buckets() for cause in corpus.bucket(name).causes for fix in cause.fixes]
    words = (text for fix in fixes for text in (fix.mentions, fix.unless_mentions, fix.first_mentions))
    found |= {(text, guards.ANY_CASE) for text in words}
    table = parts()
    found |= {(text, 0) for part in table.all for text in (part.functions, part.paths)} | {(table.generic, 0)}
    return sorted((each for each in found if each[0]), key=repr)
