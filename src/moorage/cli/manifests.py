"""`moorage manifests`: everything to run a scheduler in a cluster."""

from __future__ import annotations

import click

from moorage.cli.setup import config_option, errors_in_lines, plugin_option, verbose_option


@click.command()
@config_option
@plugin_option
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
@click.option("--namespace", default="kube-system", show_default=True, metavar="NAME")
@click.option(
    "--image", metavar="IMAGE", help="Needed for plugins that are packages.  [moorage, of this version]"
)
@click.option("--replicas", type=click.IntRange(1, 100), default=2, show_default=True)
@click.option("--metrics-service", is_flag=True, help="Add a Service for the HTTPS port.")
@click.option(
    "--service-monitor", is_flag=True, help="Add it, and a ServiceMonitor for the Prometheus operator."
)
@verbose_option
def manifests(
    config_file: str | None,
    plugins: tuple[str, ...],
    name: str | None,
    replace_default: bool,
    namespace: str,
    image: str | None,
    replicas: int,
    metrics_service: bool,
    service_monitor: bool,
    verbose: bool,
) -> None:
    """Print the objects that run a scheduler in a cluster, beside its default scheduler.

    A service account that may do exactly what the profile's plugins need, the configuration, and a Deployment
    of two replicas, one of which leads. Plugins that are files are carried along: no image has to be built.

    \b
    Examples:
      moorage manifests | kubectl apply -f -
      moorage manifests --name quiet --plugin quiet_nodes.py | kubectl apply -f -
      moorage manifests --config deploy/recipes/bin-packing.yaml --name packing
      moorage manifests --plugin my_package:Mine --image registry/mine:1
      moorage manifests --replace-default --service-monitor > scheduler.yaml
    """
    with errors_in_lines(verbose, config_file):
        from moorage.cli.deployment.planning import Wishes
        from moorage.cli.deployment.rendering import render

        text = render(
            Wishes(
                config_file=config_file,
                plugins=plugins,
                name=name,
                namespace=namespace,
                image=image,
                replicas=replicas,
                replace_default=replace_default,
                metrics_service=metrics_service,
                service_monitor=service_monitor,
            )
        )
    click.echo(text, nl=False)
