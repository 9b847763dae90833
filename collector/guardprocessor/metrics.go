package guardprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

func (g *guard) metrics(ctx context.Context, batch pmetric.Metrics) (pmetric.Metrics, error) {
	var removed tally
	batch.ResourceMetrics().RemoveIf(func(byResource pmetric.ResourceMetrics) bool {
		g.resource(byResource.Resource(), &removed)
		byResource.SetSchemaUrl(g.schemaURL(byResource.SchemaUrl(), &removed))
		byResource.ScopeMetrics().RemoveIf(func(byScope pmetric.ScopeMetrics) bool {
			byScope.SetSchemaUrl(g.schemaURL(byScope.SchemaUrl(), &removed))
			g.scopeMetrics(byScope, &removed)
			return byScope.Metrics().Len() == 0
		})
		return byResource.ScopeMetrics().Len() == 0
	})
	g.report(ctx, &removed)
	if batch.ResourceMetrics().Len() == 0 {
		return batch, processorhelper.ErrSkipProcessingData
	}
	return batch, nil
}

func (g *guard) scopeMetrics(byScope pmetric.ScopeMetrics, removed *tally) {
	names, points, text := g.list.foreign.metric, g.list.foreign.point, g.foreignMetricText
	if g.scope(byScope.Scope(), removed) {
		names, points, text = g.list.own.metrics, g.list.own.point, g.ownMetricText
	}
	byScope.Metrics().RemoveIf(func(metric pmetric.Metric) bool {
		if !names.allows(metric.Name()) {
			removed.add(placeMetric)
			return true
		}
		described := text(metric)
		metric.SetDescription(removed.replaced(placeMetricDescription, metric.Description(), described.Description))
		metric.SetUnit(removed.replaced(placeMetricUnit, metric.Unit(), described.Unit))
		attributeRules(nil).keep(metric.Metadata(), removed, placeMetricMetadata)
		keepPoints(metric, points, removed)
		return false
	})
}

func (g *guard) ownMetricText(metric pmetric.Metric) metricText {
	return g.list.own.metricText[metric.Name()]
}

func (g *guard) foreignMetricText(metric pmetric.Metric) metricText {
	if g.fixed.unit.allows(metric.Unit()) {
		return metricText{Unit: metric.Unit()}
	}
	return metricText{}
}

// point is what the kinds of data points have in common.
type point interface{ Attributes() pcommon.Map }

// sampledPoint is a data point that carries exemplars.
type sampledPoint interface {
	point
	Exemplars() pmetric.ExemplarSlice
}

func keepPoints(metric pmetric.Metric, rules attributeRules, removed *tally) {
	switch metric.Type() {
	case pmetric.MetricTypeGauge:
		keepNumbers(metric.Gauge().DataPoints(), rules, removed)
	case pmetric.MetricTypeSum:
		keepNumbers(metric.Sum().DataPoints(), rules, removed)
	case pmetric.MetricTypeHistogram:
		for _, p := range metric.Histogram().DataPoints().All() {
			keepSampled(p, rules, removed)
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range metric.ExponentialHistogram().DataPoints().All() {
			keepSampled(p, rules, removed)
		}
	case pmetric.MetricTypeSummary:
		for _, p := range metric.Summary().DataPoints().All() {
			rules.keep(p.Attributes(), removed, placePointAttribute)
		}
	}
}

func keepNumbers(points pmetric.NumberDataPointSlice, rules attributeRules, removed *tally) {
	for _, p := range points.All() {
		keepSampled(p, rules, removed)
	}
}

func keepSampled(p sampledPoint, rules attributeRules, removed *tally) {
	rules.keep(p.Attributes(), removed, placePointAttribute)
	for _, exemplar := range p.Exemplars().All() {
		attributeRules(nil).keep(exemplar.FilteredAttributes(), removed, placeExemplarAttribute)
	}
}
