package guardprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const operationName = "gen_ai.operation.name"

func (g *guard) traces(ctx context.Context, batch ptrace.Traces) (ptrace.Traces, error) {
	var removed tally
	for _, byResource := range batch.ResourceSpans().All() {
		g.resource(byResource.Resource(), &removed)
		byResource.SetSchemaUrl(g.schemaURL(byResource.SchemaUrl(), &removed))
		for _, byScope := range byResource.ScopeSpans().All() {
			byScope.SetSchemaUrl(g.schemaURL(byScope.SchemaUrl(), &removed))
			g.spans(byScope, &removed)
		}
	}
	g.report(ctx, &removed)
	return batch, nil
}

func (g *guard) spans(byScope ptrace.ScopeSpans, removed *tally) {
	rules, name := g.list.foreign.span, g.foreignSpanName
	if g.scope(byScope.Scope(), removed) {
		rules, name = g.list.own.span, g.ownSpanName
	}
	for _, span := range byScope.Spans().All() {
		rules.keep(span.Attributes(), removed, placeSpanAttribute)
		span.SetName(removed.replaced(placeSpanName, span.Name(), name(span)))
		span.TraceState().FromRaw(removed.emptied(placeSpanTraceState, span.TraceState().AsRaw()))
		span.Status().SetMessage(removed.emptied(placeSpanStatusMessage, span.Status().Message()))
		g.spanEvents(span.Events(), removed)
		g.spanLinks(span.Links(), removed)
	}
}

// ownSpanName falls back to the operation, whose value the attribute rules have already judged.
func (g *guard) ownSpanName(span ptrace.Span) string {
	if g.list.own.spanName.allows(span.Name()) {
		return span.Name()
	}
	if operation, found := span.Attributes().Get(operationName); found && operation.Type() == pcommon.ValueTypeStr {
		return operation.Str()
	}
	return redactedName
}

func (g *guard) foreignSpanName(span ptrace.Span) string {
	if head := firstWord(span.Name()); g.list.foreign.spanHeads.allows(head) {
		return head
	}
	return plainSpan
}

func (g *guard) spanEvents(events ptrace.SpanEventSlice, removed *tally) {
	events.RemoveIf(func(event ptrace.SpanEvent) bool {
		if event.Name() != exception {
			removed.add(placeSpanEvent)
			return true
		}
		g.fixed.exception.keep(event.Attributes(), removed, placeSpanEventAttribute)
		return false
	})
}

func (g *guard) spanLinks(links ptrace.SpanLinkSlice, removed *tally) {
	for _, link := range links.All() {
		attributeRules(nil).keep(link.Attributes(), removed, placeSpanLinkAttribute)
		link.TraceState().FromRaw(removed.emptied(placeSpanLinkTraceState, link.TraceState().AsRaw()))
	}
}
