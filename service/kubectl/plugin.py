"""The plugin: asks kubectl, and nobody else; changes nothing in the cluster."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from ...classifier.errors import InputError
from ..cli.answered import answered
from ..cli.messages import EXIT_CLEAN, EXIT_FAILURE, complain
from ..cli.parser import Parser
from .cluster import Cluster, KubectlError, Pod
from .patch import patch_of

ABOUT = (
    "Say what is wrong with a vLLM pod: its last log, its state and events in one question, and the patch that follows."
)


def main() -> None:
    """Run the plugin as a command of its own (``kubectl-vllm_triage``)."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Answer; exit code 0 where no failure was found, 1 where one was, 2 on misuse."""
    parser = Parser(
        prog="kubectl vllm-triage",
        description=ABOUT,
        epilog="exit codes: 0 no failure found, 1 a failure found, 2 usage error",
    )
    add = parser.add_argument
    add("pod", nargs="?", default="", metavar="POD", help="default: the vLLM pods of the namespace that are not well")
    add("-c", "--container", default="", metavar="NAME", help="default: the one that runs vLLM")
    add("-n", "--namespace", default="", metavar="NAME")
    add("--context", default="", metavar="NAME")
    add("--kubeconfig", default="", metavar="FILE")
    add("--watch", action="store_true", help="follow the log, and report a cause as soon as it is certain")
    add("--patch", action="store_true", help="print nothing but the command that changes the workload")
    add("-f", "--format", choices=("text", "json", "markdown"), default="text")
    add("-v", "--verbose", action="store_true", help="show all evidence, facts and fixes")
    return answered(parser, words, _answer)


def _answer(options: Namespace) -> int:
    cluster = Cluster(namespace=options.namespace, context=options.context, kubeconfig=options.kubeconfig)
    try:
        pods = [cluster.pod(options.pod)] if options.pod else cluster.ailing()
        if not pods:
            print("no vLLM pod here that is not well (kubectl vllm-triage POD asks for one)")
            return EXIT_CLEAN
        if options.watch:
            return _watch(cluster, pods[0], options)
        return max([_one(cluster, pod, options) for pod in pods])
    except (KubectlError, InputError) as error:
        return complain(str(error))


def _one(cluster: Cluster, pod: Pod, options: Namespace) -> int:
    from ...classifier.api import shared
    from ...classifier.input.read import join_sources
    from ...classifier.question import Question
    from ..render.interface import Options, Result, render

    container = pod.container(options.container)
    # The state first: what the log says goes before it where both name a cause.
    report = shared().report(
        join_sources([cluster.described(pod), cluster.log(pod, container)]), Question(command=pod.manifest(container))
    )
    patch = patch_of(report, pod, container) if report.failed else ""
    if options.patch:
        if not patch:
            return complain(f"{pod.name}: no change of the workload follows from {report.cause}")
        print(patch)
        return EXIT_CLEAN
    shape = Options(options.verbose, form="kubernetes") if options.verbose else Options(form="shell")
    sys.stdout.write(render(options.format, [Result(f"{pod.name}/{container}", report)], shape))
    if patch and options.format == "text":
        print(f"\n  the change, as a command (it is not run):\n\n  {patch}")
    return EXIT_FAILURE if report.failed else EXIT_CLEAN


def _watch(cluster: Cluster, pod: Pod, options: Namespace) -> int:
    from ..cli.main import main as triage

    following = cluster.follow(pod, pod.container(options.container))
    assert following.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    os.dup2(following.stdout.fileno(), 0)
    try:
        return triage(["-", "--follow", "--format", "json" if options.format == "json" else "text"])
    finally:
        following.terminate()
