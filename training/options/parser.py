"""Follows how a release builds its command-line parser, and notes every option that it adds.

A small interpreter for the shape in which vLLM writes this: parsers and groups are passed to functions, configuration
classes become dictionaries of keyword arguments (``get_kwargs``), single entries of these are changed, and
``add_argument`` gets them. All branches are followed: an option that only some platforms add exists.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from .fields import Option, OptionMaker, keys_of
from .names import Class, Definition, Function, called
from .resolve import UNKNOWN, Place, Resolver, plain
from .source import Tree

PARSER = object()
"""Stands for a parser, or a group of its options."""
ARGUMENTS = "vllm/engine/arg_utils.py"
BUILDER = "cli_args.py"
"""The file that holds ``make_arg_parser``; its folder below ``vllm/entrypoints`` changed three times."""
COMMANDS = ("vllm/entrypoints/cli/serve.py", "vllm/scripts.py")
_DEPRECATED = re.compile(
    r"^\W*deprecated\b|\[deprecated|\b(?:is|are|was|been) (?:now )?deprecated|(?:will|to) be removed in", re.IGNORECASE
)
_KINDS = {"int": "int", "float": "float", "str": "str", "bool": "bool", "loads": "json", "literal_eval": "json"}


@dataclass(slots=True)
class Flag:
    """One option of the command line under all its names."""

    names: list[str]
    option: Option


class FlagMiner(Resolver):
    """Collects the options that ``vllm serve`` takes in one release."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.flags: list[Flag] = []
        self.unclear: list[str] = []
        """Places where the name of an option could not be worked out; empty for a release that was read whole."""
        self._maker = OptionMaker(self, ARGUMENTS)
        self._running: list[Function] = []

    def mine(self) -> list[Flag]:
        """Return the options of the release."""
        paths = [path for path in self.tree.containing(b"def make_arg_parser") if path.endswith(f"/{BUILDER}")]
        builder = self.find(paths[0], "make_arg_parser") if len(paths) == 1 else None
        if not isinstance(builder, Function):
            told = f"no one {BUILDER} with make_arg_parser: its parser is built elsewhere (found: {paths})"
            raise LookupError(told)  # noqa: TRY004 (the source lacks it)
        self._run(builder, {builder.node.args.args[0].arg: PARSER})
        for path in COMMANDS:
            for node in ast.walk(self.tree.module(path) or ast.Module([], [])):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "serve_parser.add_argument":
                    self._add(node, Place(path, {}))
        self._add_unwritten()
        return self.flags

    def _add_unwritten(self) -> None:
        """Add what no ``add_argument`` says: argparse's own option, and the short form that vLLM's parser rewrites."""
        self.flags.append(Flag(["--help", "-h"], Option("switch")))
        if any(path.startswith("vllm/utils") for path in self.tree.containing(b'"--optimization-level"')):
            for flag in self.flags:
                if flag.names[0] == "--optimization-level":
                    flag.names.append("-O")

    # Statements

    def _run(self, function: Function, bound: dict[str, Any]) -> Any:
        if function in self._running:
            return UNKNOWN
        self._running.append(function)
        # What is returned stands under a name that no source can have.
        local: dict[str, Any] = {**bound, "": UNKNOWN}
        self._body(function.node.body, Place(function.path, local))
        self._running.pop()
        return local[""]

    def _body(self, body: list[ast.stmt], place: Place) -> None:
        for node in body:
            self._statement(node, place)

    def _statement(self, node: ast.stmt, place: Place) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self.value(value, place), value, place)
            case ast.AugAssign(target=ast.Subscript() as target):
                self._assign(target, self.value(ast.BinOp(target, node.op, node.value), place), node.value, place)
            case ast.ImportFrom():
                place.local.update(self._imported(node))
            case ast.Delete(targets=targets):
                for target in targets:
                    self._delete(target, place)
            case ast.Expr(value=value):
                self.value(value, place)
            case ast.Return(value=value) if value is not None:
                place.local[""] = self.value(value, place)
            case ast.If() | ast.Try() | ast.With():
                self._body(node.body, place)
                self._body(getattr(node, "orelse", []), place)
            case ast.For():
                self._loop(node, place)

    def _imported(self, node: ast.ImportFrom) -> dict[str, Any]:
        path = self.tree.path_of(node.module or "") if not node.level else None
        if path is None:
            return {}
        found = {alias.asname or alias.name: self.find(path, alias.name) for alias in node.names}
        return {name: definition for name, definition in found.items() if definition is not None}

    def _assign(self, target: ast.expr, value: Any, expression: ast.expr, place: Place) -> None:
        if isinstance(target, ast.Name):
            place.local[target.id] = value
        elif isinstance(target, ast.Subscript):
            option, word = self.value(target.value, place), self.value(target.slice, place)
            if isinstance(option, Option) and isinstance(word, str):
                self._tell(option, word, expression, value, place)

    def _delete(self, target: ast.expr, place: Place) -> None:
        if isinstance(target, ast.Subscript):
            option, word = self.value(target.value, place), self.value(target.slice, place)
            if isinstance(option, Option) and word == "nargs":
                option.many = False
            elif isinstance(option, Option) and word == "choices":
                option.choices = UNKNOWN
            elif isinstance(option, dict):
                option.pop(word, None)

    def _loop(self, node: ast.For, place: Place) -> None:
        source = node.iter
        if isinstance(source, ast.Call) and called(source) == "items" and isinstance(source.func, ast.Attribute):
            items = self.value(source.func.value, place)
            pairs: list[tuple[Any, ...]] = list(items.items()) if isinstance(items, dict) else [(UNKNOWN, UNKNOWN)]
        elif isinstance(source, (ast.List, ast.Tuple)):
            # One by one: of `("--name", str)` the first is known and the second is not.
            rows = [item.elts if isinstance(item, ast.Tuple) else [item] for item in source.elts]
            pairs = [tuple(self.value(item, place) for item in row) for row in rows]
        else:
            items = self.value(source, place)
            pairs = [(item,) for item in items] if isinstance(items, (list, dict)) else [(UNKNOWN,)]
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        for pair in pairs:
            for target, item in zip(targets, pair, strict=False):
                if isinstance(target, ast.Name):
                    place.local[target.id] = item
            self._body(node.body, place)

    # Expressions

    def call(self, expression: ast.Call, place: Place) -> Any:
        """Evaluate a call: an option is added, a helper is followed, or a value is made."""
        name, arguments = called(expression), expression.args
        owner = self.value(expression.func.value, place) if isinstance(expression.func, ast.Attribute) else UNKNOWN
        result: Any = UNKNOWN
        if owner is PARSER and name == "add_argument":
            self._add(expression, place)
        elif owner is PARSER and name in ("add_argument_group", "add_mutually_exclusive_group"):
            result = PARSER
        elif name == "get_kwargs" and arguments:
            cls = self.class_at(place, arguments[0])
            result = UNKNOWN if cls is None else self._maker.options(cls)
        elif isinstance(owner, Option):
            result = self._change(owner, name, expression, place)
        elif isinstance(owner, list) and arguments:
            _change_list(owner, name, self.value(arguments[-1], place))
        elif isinstance(owner, str) and name == "replace" and len(arguments) == 2:
            old, new = (str(self.value(argument, place)) for argument in arguments)
            result = owner.replace(old, new)
        else:
            result = self._follow(expression, place)
        return result

    def subscript(self, expression: ast.Subscript, place: Place) -> Any:
        """Evaluate ``kwargs["field"]`` and ``kwargs["field"]["default"]`` as well."""
        owner = self.value(expression.value, place)
        if isinstance(owner, Option):
            return getattr(owner, str(self.value(expression.slice, place)), UNKNOWN)
        return super().subscript(expression, place)

    def mapping(self, expression: ast.Dict, place: Place) -> Any:
        """Evaluate ``{**kwargs["field"], "default": …}`` as an option."""
        pairs = list(zip(expression.keys, expression.values, strict=True))
        spread = [self.value(value, place) for key, value in pairs if key is None]
        base = next((item for item in spread if isinstance(item, Option)), None)
        if base is None:
            return super().mapping(expression, place)
        option = base.copy()
        for key, value in pairs:
            if key is not None:
                self._tell(option, str(self.value(key, place)), value, self.value(value, place), place)
        return option

    def _change(self, option: Option, name: str, expression: ast.Call, place: Place) -> Any:
        if name == "pop" and len(expression.args) == 2:
            return self.value(expression.args[1], place)
        if name == "update" and expression.args and isinstance(expression.args[0], ast.Dict):
            words = expression.args[0]
            for key, value in zip(words.keys, words.values, strict=True):
                self._tell(option, str(self.value(key, place)), value, self.value(value, place), place)
        return UNKNOWN

    def _follow(self, expression: ast.Call, place: Place) -> Any:
        arguments = [self.value(argument, place) for argument in expression.args]
        if not any(argument is PARSER or _is_options(argument) for argument in arguments):
            return super().call(expression, place)
        function, cls = self._callee(expression.func, place)
        if function is None:
            # copy.deepcopy(kwargs), parsers of plug-ins
            return arguments[0] if called(expression) == "deepcopy" else UNKNOWN
        names = [argument.arg for argument in function.node.args.args]
        bound: dict[str, Any] = {}
        if cls is not None and names and names[0] in ("cls", "self"):
            bound[names.pop(0)] = cls
        return self._run(function, {**bound, **dict(zip(names, arguments, strict=False))})

    def _callee(self, expression: ast.expr, place: Place) -> tuple[Function | None, Class | None]:
        """Return the function that is called, and the class that it is called on."""
        found: Definition | None = None
        cls: Class | None = None
        if isinstance(expression, ast.Name):
            found = place.local.get(expression.id) or self.find(place.path, expression.id)
        elif isinstance(expression, ast.Attribute):
            above = isinstance(expression.value, ast.Call) and called(expression.value) == "super"
            cls = place.local.get("cls") if above else self.class_at(place, expression.value)
            methods = [] if cls is None else self.methods(cls, expression.attr)
            # `super()` goes on behind the method that is running.
            first = methods.index(self._running[-1]) + 1 if above and self._running[-1] in methods else 0
            found = next(iter(methods[first:]), None)
        return (found if isinstance(found, Function) else None), cls

    # Options

    def _add(self, expression: ast.Call, place: Place) -> None:
        option = Option(default=None)
        names: list[str] = []
        for argument in expression.args:
            value = self.value(argument.value if isinstance(argument, ast.Starred) else argument, place)
            if isinstance(value, str):
                names.append(value)
            elif not isinstance(value, list):
                self.unclear.append(f"{place.path}:{expression.lineno}: {ast.unparse(argument)}")
        spread = [self.value(word.value, place) for word in expression.keywords if word.arg is None]
        option = next((item.copy() for item in spread if isinstance(item, Option)), option)
        for word in expression.keywords:
            if word.arg is not None:
                self._tell(option, word.arg, word.value, self.value(word.value, place), place)
        if option.kind == "str" and "JSON string" in option.help:
            # Parsed later than by argparse; for the person who gives it that is no difference.
            option.kind = "json"
        option.deprecated = option.deprecated or bool(_DEPRECATED.search(option.help))
        names = [name.replace("_", "-") if name.startswith("--") else name for name in names if name.startswith("-")]
        if names:
            self.flags.append(Flag(sorted(names, key=lambda name: not name.startswith("--")), option))

    def _tell(self, option: Option, word: str, expression: ast.expr, value: Any, place: Place) -> None:
        match word:
            case "type":
                option.kind = self._kind(expression, place)
                cls = self.class_at(place, expression.value) if isinstance(expression, ast.Attribute) else None
                if option.kind == "json" and cls is not None:
                    # CompilationConfig.from_cli: the class says which keys there are.
                    option.keys = keys_of(self, cls)
            case "action":
                self._act(option, ast.unparse(expression).strip("'\""))
            case "nargs":
                option.many = value != "?" and value is not UNKNOWN
            case "choices":
                option.choices = plain(value)
            case "default":
                option.default = plain(value)
            case "help" if isinstance(value, str):
                option.help = value
            case "deprecated":
                option.deprecated = value is True

    @staticmethod
    def _act(option: Option, action: str) -> None:
        if action.endswith("BooleanOptionalAction"):
            option.kind, option.negated = "switch", True
        elif action in ("store_true", "store_false", "store_const", "count", "help", "version"):
            option.kind, option.negated = "switch", False
            if option.default is None and action in ("store_true", "store_false"):
                option.default = action == "store_false"
        elif action.endswith("StoreBoolean"):
            option.kind = "bool"
        elif action == "append":
            option.many = True

    def _kind(self, expression: ast.expr, place: Place) -> str:
        if isinstance(expression, ast.Call) and expression.args:
            # A type around a type, such as optional_type(int).
            return self._kind(expression.args[0], place)
        name = ast.unparse(expression).rsplit(".", 1)[-1]
        if name in _KINDS:
            return _KINDS[name]
        if name == "check_port" or "int" in name.split("_"):
            return "int"
        # KVTransferConfig.from_cli, union_dict_and_str
        return "json" if {"dict", "json", "cli"} & set(name.split("_")) else "str"


def _is_options(value: Any) -> bool:
    items = list(value.values()) if isinstance(value, dict) else [value]
    return any(isinstance(item, Option) for item in items)


def _change_list(items: list[Any], name: str, value: Any) -> None:
    if name == "remove":
        items[:] = [item for item in items if item != value]
    elif name == "extend" and isinstance(value, list):
        items.extend(value)
    elif name in ("append", "insert") and value is not UNKNOWN:
        items.append(value)
