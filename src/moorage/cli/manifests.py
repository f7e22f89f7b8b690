"""`moorage manifests`: everything to run a scheduler in a cluster."""

from __future__ import annotations

import click

from moorage.cli.setup import config_option, errors_in_lines, plugin_option, verbose_option, with_option


@click.command()
@config_option
@plugin_option
@with_option
@click.option(
    "--name",
    metavar="NAME",
    help="What pods put into schedulerName; the objects and the lease have it, too.  "
    "[the profile's name, or moorage]",
)
@click.option(
    "--replace-default",
    is_flag=True,
    help="Serve the pods of default-scheduler, with its lease: in its place, not beside it.",
)
@click.option(
    "--shadow",
    is_flag=True,
    help="Run `moorage shadow` instead: it judges the scheduler in charge, with rights to read only.",
)
@click.option("--namespace", default="kube-system", show_default=True, metavar="NAME")
@click.option(
    "--image", metavar="IMAGE", help="Needed for plugins that are packages.  [moorage, of this version]"
)
@click.option("--replicas", type=click.IntRange(1, 100), help="How many pods.  [2, one with --shadow]")
@click.option("--metrics-service", is_flag=True, help="Add a Service for the port of its metrics.")
@click.option(
    "--service-monitor", is_flag=True, help="Add it, and a ServiceMonitor for the Prometheus operator."
)
@verbose_option
def manifests(
    config_file: str | None,
    plugins: tuple[str, ...],
    features: tuple[str, ...],
    name: str | None,
    replace_default: bool,
    shadow: bool,
    namespace: str,
    image: str | None,
    replicas: int | None,
    metrics_service: bool,
    service_monitor: bool,
    verbose: bool,
) -> None:
    """Print the objects that run a scheduler in a cluster, beside its default scheduler.

    A service account that may do exactly what the profile's plugins need, the configuration, and a Deployment
    of two replicas, one of which leads. Plugins that are files are carried along: no image has to be built.
    What --with turns on comes with the definitions of its custom resources. With --shadow it is one that only
    looks: no lease, no role to write, and its metrics over HTTP.

    \b
    Examples:
      moorage manifests | kubectl apply -f -
      moorage manifests --name quiet --plugin quiet_nodes.py | kubectl apply -f -
      moorage manifests --config deploy/recipes/bin-packing.yaml --name packing
      moorage manifests --plugin my_package:Mine --image registry/mine:1
      moorage manifests --with coscheduling,capacity | kubectl apply -f -
      moorage manifests --shadow --config new.yaml | kubectl apply -f -
      moorage manifests --replace-default --service-monitor > scheduler.yaml
    """
    with errors_in_lines(verbose, config_file):
        from moorage.cli.deployment.planning import Wishes
        from moorage.cli.deployment.rendering import render

        text = render(
            Wishes(
                config_file=config_file,
                plugins=plugins,
                features=features,
                name=name,
                namespace=namespace,
                image=image,
                replicas=replicas,
                replace_default=replace_default,
                shadow=shadow,
                metrics_service=metrics_service,
                service_monitor=service_monitor,
            )
        )
    click.echo(text, nl=False)
