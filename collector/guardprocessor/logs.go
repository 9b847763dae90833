package guardprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

func (g *guard) logs(ctx context.Context, batch plog.Logs) (plog.Logs, error) {
	var removed tally
	batch.ResourceLogs().RemoveIf(func(byResource plog.ResourceLogs) bool {
		g.resource(byResource.Resource(), &removed)
		byResource.SetSchemaUrl(g.schemaURL(byResource.SchemaUrl(), &removed))
		byResource.ScopeLogs().RemoveIf(func(byScope plog.ScopeLogs) bool {
			byScope.SetSchemaUrl(g.schemaURL(byScope.SchemaUrl(), &removed))
			g.logRecords(byScope, &removed)
			return byScope.LogRecords().Len() == 0
		})
		return byResource.ScopeLogs().Len() == 0
	})
	g.report(ctx, &removed)
	if batch.ResourceLogs().Len() == 0 {
		return batch, processorhelper.ErrSkipProcessingData
	}
	return batch, nil
}

func (g *guard) logRecords(byScope plog.ScopeLogs, removed *tally) {
	own := g.scope(byScope.Scope(), removed)
	rules := g.list.foreign.log
	if own {
		rules = g.list.own.log
	}
	byScope.LogRecords().RemoveIf(func(record plog.LogRecord) bool {
		if !g.logEventName(record, own, removed) {
			removed.add(placeLogRecord)
			return true
		}
		g.logRecord(record, rules, removed)
		return false
	})
}

// logEventName cleans a foreign name, and refuses an own record whose name we do not know.
func (g *guard) logEventName(record plog.LogRecord, own bool, removed *tally) bool {
	if own {
		return g.list.own.eventNames.allows(record.EventName())
	}
	if !g.list.foreignScope.allows(record.EventName()) {
		record.SetEventName(removed.emptied(placeLogEventName, record.EventName()))
	}
	return true
}

func (g *guard) logRecord(record plog.LogRecord, rules attributeRules, removed *tally) {
	rules.keep(record.Attributes(), removed, placeLogAttribute)
	if record.Body().Type() != pcommon.ValueTypeEmpty {
		removed.add(placeLogBody)
		pcommon.NewValueEmpty().CopyTo(record.Body())
	}
	if !g.fixed.severity.allows(record.SeverityText()) {
		record.SetSeverityText(removed.emptied(placeLogSeverityText, record.SeverityText()))
	}
}
