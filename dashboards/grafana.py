"""Boards as Grafana resources (dashboards v2), through the foundation SDK's builders."""

from __future__ import annotations

import warnings
from typing import Any, Final

with warnings.catch_warnings():
    # The SDK's module for Prometheus queries imports its own deprecated v2beta1 models, which warn when they are defined.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.builders import common as c
    from grafana_foundation_sdk.builders import dashboardv2 as d
    from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import common as cm
    from grafana_foundation_sdk.models import dashboardv2 as m
    from grafana_foundation_sdk.models import prometheus as pm

from dashboards import names
from dashboards.panels import Board, Logs, Metrics, Panel, Query, Row, Trace, Values, Variable
from dashboards.queries import VARIABLES

LOGS_PLUGIN: Final = "victoriametrics-logs-datasource"
"""Not part of Grafana: GF_PLUGINS_PREINSTALL must name it."""
TAG: Final = "otel-agent"
_SOURCES: Final = (("metrics", "Metrics", "prometheus"), ("logs", "Log records", LOGS_PLUGIN), ("traces", "Traces", "jaeger"))

Visualization = Builder[m.VizConfigKind]


def resource(board: Board) -> str:
    """The board as the JSON of a full resource, which is the only form of v2 that file provisioning accepts."""
    text: str = JSONEncoder(sort_keys=True, indent=1).encode(d.manifest(board.uid, _dashboard(board)).build())
    return text + "\n"


def _dashboard(board: Board) -> d.Dashboard:
    built = d.Dashboard(board.title).description(board.description).editable(False).tags([TAG])
    built.time_settings(d.TimeSettings().from_val("now-6h").to("now").auto_refresh("1m").timezone("browser"))
    built.cursor_sync(m.DashboardCursorSync.CROSSHAIR).links([_siblings()])
    for name, label, plugin in _SOURCES:
        built.variable(d.DatasourceVariable(name).label(label).plugin_id(plugin).description(f"Where {label.lower()} are read from."))
    for variable in board.variables:
        built.variable(_variable(variable))
    for number, panel in board.panels():
        built.element(_element(number), _panel(number, panel))
    return built.layout(_layout(board))


def _siblings() -> d.DashboardLink:
    link = d.DashboardLink().title("Agent boards").type(m.DashboardLinkType.DASHBOARDS).tags([TAG]).as_dropdown(True)
    return link.keep_time(True).include_vars(True).icon("external link").tooltip("The other boards, same time and filters")


def _element(number: int) -> str:
    return f"panel-{number}"


def _layout(board: Board) -> d.Rows:
    rows, number = d.rows(), 0
    for row in board.rows:
        rows.row(d.row(row.title).layout(_grid(row, number)))
        number += len(row.panels)
    return rows


def _grid(row: Row, before: int) -> d.AutoGrid:
    wide = any(panel.kind in ("table", "trace") for panel in row.panels)
    grid = d.auto_grid().max_column_count(1 if wide else 3).column_width_mode("wide" if wide else "standard")
    for number in range(before + 1, before + 1 + len(row.panels)):
        grid.with_item(_element(number))
    return grid


def _variable(variable: Variable) -> d.QueryVariable | d.TextVariable:
    if not isinstance(variable, Values):
        return d.TextVariable(variable.name).label(variable.label).description(variable.description)
    values = f"label_values({names.series(variable.metric)}{_earlier(variable)}, {names.label(variable.attribute)})"
    query = PlainQuery("prometheus", "metrics", {"qryType": 1, "query": values, "refId": "values"})
    built = d.QueryVariable(variable.name).label(variable.label).query(query).definition(values)
    built.description(f"Shows only this {variable.label.lower()}; All includes calls that have none.")
    built.refresh(m.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(m.VariableSort.ALPHABETICAL_ASC)
    return built.multi(True).include_all(True).all_value(".*").current(m.VariableOption(text="All", value="$__all"))


def _earlier(variable: Values) -> str:
    """The variables before this one narrow its values, where they are attributes of the metric."""
    before = VARIABLES[: [known.name for known in VARIABLES].index(variable.name)]
    chain = [v for v in before if v.attribute in names.attributes(variable.metric)]
    matchers = ", ".join(f'{names.label(v.attribute)}=~"${v.name}"' for v in chain)
    return f"{{{matchers}}}" if chain else ""


class PlainQuery(Builder[m.DataQueryKind]):
    """A query of a datasource for which the SDK has no builder, or of a variable."""

    def __init__(self, group: str, source: str, spec: dict[str, Any]) -> None:
        self._spec = (group, source, spec)

    def build(self) -> m.DataQueryKind:
        """Builds the object."""
        group, source, spec = self._spec
        return m.DataQueryKind(group=group, datasource=_source(source).build(), spec=spec)


def _source(variable: str) -> d.Dashboardv2DataQueryKindDatasource:
    return d.Dashboardv2DataQueryKindDatasource().name(f"${{{variable}}}")


def _query(query: Query) -> Builder[m.DataQueryKind]:
    match query:
        case Metrics():
            return _metrics(query)
        case Logs(expr):
            return PlainQuery(LOGS_PLUGIN, "logs", {"expr": expr, "queryType": "instant", "maxLines": 1000})
        case Trace(trace_id):
            return PlainQuery("jaeger", "traces", {"query": trace_id})


def _metrics(query: Metrics) -> prometheus.QueryV2:
    built = prometheus.QueryV2().expr(query.expr).legend_format(query.legend or "__auto").datasource(_source("metrics"))
    built.editor_mode(pm.QueryEditorMode.CODE)
    return built.instant(True).range(False) if query.instant else built.range(True).exemplar(query.exemplar)


def _panel(number: int, panel: Panel) -> d.Panel:
    group = d.QueryGroup()
    for letter, query in zip("ABCDEFGH", panel.queries, strict=False):
        group.target(d.Target().ref_id(letter).query(_query(query)))
    if panel.kind == "table":
        group.transformations([d.Transformation().group("extractFields").options(_EXTRACTED)])
    built = d.Panel().id(number).title(panel.title).description(panel.description).data(group)
    return built.visualization(_visualization(panel))


_EXTRACTED: Final = {"source": "labels", "format": "json", "keepTime": True, "replace": True}
"""The log datasource puts a record's fields into one JSON column."""


def _visualization(panel: Panel) -> Visualization:
    match panel.kind:
        case "stat":
            plain = stat.VisualizationV2().unit(panel.unit).color_mode(cm.BigValueColorMode.NONE)
            return plain.graph_mode(cm.BigValueGraphMode.NONE)
        case "table":
            return _table(panel)
        case "states":
            built = statetimeline.VisualizationV2().unit(panel.unit).show_value(cm.VisibilityMode.NEVER)
            return built.color_scheme(_shades()).legend(_legend())
        case "trace":
            return d.VizConfigKind().group("traces").unit(panel.unit)
        case _:
            return _series(panel)


def _shades() -> d.FieldColor:
    return d.FieldColor().mode(m.FieldColorModeId.CONTINUOUS_BL_YL_RD)


def _legend() -> c.VizLegendOptions:
    built = c.VizLegendOptions().show_legend(True).display_mode(cm.LegendDisplayMode.LIST)
    return built.placement(cm.LegendPlacement.BOTTOM).calcs([])


def _table(panel: Panel) -> table.VisualizationV2:
    built = table.VisualizationV2().unit(panel.unit).filterable(True)
    return built.data_links([{"title": link.title, "url": link.url} for link in panel.links]) if panel.links else built


def _series(panel: Panel) -> timeseries.VisualizationV2:
    bars = panel.kind == "bars"
    built = timeseries.VisualizationV2().unit(panel.unit).legend(_legend()).axis_soft_min(0)
    built.draw_style(cm.GraphDrawStyle.BARS if bars else cm.GraphDrawStyle.LINE).fill_opacity(60 if bars else 0)
    tooltip = c.VizTooltipOptions().mode(cm.TooltipDisplayMode.MULTI).sort(cm.SortOrder.DESCENDING)
    built.show_points(cm.VisibilityMode.AUTO).tooltip(tooltip)
    if panel.stacked:
        built.stacking(c.StackingConfig().mode(cm.StackingMode.NORMAL).group("A"))
    if panel.limit is not None:
        steps = [m.Threshold(value=None, color="transparent"), m.Threshold(value=panel.limit, color="red")]
        built.thresholds(d.ThresholdsConfig().mode(m.ThresholdsMode.ABSOLUTE).steps(steps))
        built.thresholds_style(c.GraphThresholdsStyleConfig().mode(cm.GraphThresholdsStyleMode.LINE))
    return built
