package guardprocessor

import (
	"context"
	"errors"
	"maps"
	"math"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func oneSpan(scope, name string, attributes map[string]any) (ptrace.Traces, ptrace.Span) {
	batch := ptrace.NewTraces()
	byScope := batch.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	byScope.Scope().SetName(scope)
	span := byScope.Spans().AppendEmpty()
	span.SetName(name)
	if err := span.Attributes().FromRaw(attributes); err != nil {
		panic(err)
	}
	return batch, span
}

func guardedSpan(t *testing.T, scope, name string, attributes map[string]any) ptrace.Span {
	t.Helper()
	batch, span := oneSpan(scope, name, attributes)
	if _, err := sampleGuard(t).traces(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return span
}

func TestOwnFactsPassUnchanged(t *testing.T) {
	facts := map[string]any{
		"gen_ai.operation.name":          "chat",
		"gen_ai.request.model":           "claude-opus-5-20260801",
		"gen_ai.usage.input_tokens":      int64(12),
		"gen_ai.request.temperature":     0.5,
		"otel_agent.response.truncated":  true,
		"gen_ai.response.finish_reasons": []any{"max_tokens"},
	}
	span := guardedSpan(t, "otel_agent", "chat claude-opus-5", facts)
	if got := span.Attributes().Len(); got != len(facts) {
		t.Errorf("%d attributes left of %d: %v", got, len(facts), span.Attributes().AsRaw())
	}
	if span.Name() != "chat claude-opus-5" {
		t.Errorf("name became %q", span.Name())
	}
}

func TestAnIntegerIsAcceptedForADouble(t *testing.T) {
	span := guardedSpan(t, "otel_agent", "chat", map[string]any{"gen_ai.request.temperature": int64(1)})
	if span.Attributes().Len() != 1 {
		t.Error("an integer temperature was removed")
	}
}

func TestValuesThatDoNotFitAreRemoved(t *testing.T) {
	for key, value := range map[string]any{
		"gen_ai.usage.input_tokens":      "12",
		"otel_agent.response.truncated":  int64(1),
		"gen_ai.request.model":           canary,
		"gen_ai.operation.name":          "think",
		"gen_ai.response.id":             []byte("bytes"),
		"gen_ai.agent.name":              map[string]any{"a": "b"},
		"gen_ai.response.finish_reasons": []any{"stop", canary},
		"otel_agent.tools.called":        []any{int64(1)},
		"gen_ai.output.messages":         "anything",
		"gen_ai.request.temperature":     math.NaN(),
	} {
		if span := guardedSpan(t, "otel_agent", "chat", map[string]any{key: value}); span.Attributes().Len() != 0 {
			t.Errorf("%s: %v passed", key, value)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	long := make([]any, 65)
	for i := range long {
		long[i] = "tool"
	}
	for want, list := range map[int][]any{1: long[:64], 0: long} {
		span := guardedSpan(t, "otel_agent", "chat", map[string]any{"otel_agent.tools.called": list})
		if span.Attributes().Len() != want {
			t.Errorf("a list of %d: %d attributes left, want %d", len(list), span.Attributes().Len(), want)
		}
	}
}

func TestSpanNames(t *testing.T) {
	chat := map[string]any{"gen_ai.operation.name": "chat"}
	for _, c := range []struct {
		scope, name string
		attributes  map[string]any
		want        string
	}{
		{"otel_agent", "execute_tool refund", nil, "execute_tool refund"},
		{"otel_agent", "chat " + canary, chat, "chat"},
		{"otel_agent", canary, nil, "redacted"},
		{"otel_agent", canary, map[string]any{"gen_ai.operation.name": canary}, "redacted"},
		{"foreign", "GET /orders/17", nil, "GET"},
		{"foreign", "chat gpt-5", nil, "chat"},
		{"foreign", canary, nil, "span"},
		{"foreign", "chat\tthinking", nil, "span"},
	} {
		if got := guardedSpan(t, c.scope, c.name, c.attributes).Name(); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.scope, c.name, got, c.want)
		}
	}
}

func TestForeignScopesKeepStructureAndNumbers(t *testing.T) {
	span := guardedSpan(t, "anthropic", "chat", map[string]any{
		"gen_ai.usage.input_tokens": int64(3),
		"gen_ai.request.model":      "claude-opus-5",
		"gen_ai.output.messages":    "text",
	})
	if got := span.Attributes().AsRaw(); len(got) != 1 || got["gen_ai.usage.input_tokens"] != int64(3) {
		t.Errorf("left: %v", got)
	}
}

func TestScopesAreCleaned(t *testing.T) {
	for _, c := range []struct{ name, wantName, wantVersion string }{
		{"otel_agent", "otel_agent", "1.2.3"},
		{"opentelemetry.instrumentation.httpx", "opentelemetry.instrumentation.httpx", ""},
		{canary, "other", ""},
	} {
		batch, _ := oneSpan(c.name, "chat", nil)
		scope := batch.ResourceSpans().At(0).ScopeSpans().At(0).Scope()
		scope.SetVersion("1.2.3")
		scope.Attributes().PutStr("error.type", "timeout")
		if _, err := sampleGuard(t).traces(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if scope.Name() != c.wantName || scope.Version() != c.wantVersion || scope.Attributes().Len() != 0 {
			t.Errorf("%q became %q %q %v", c.name, scope.Name(), scope.Version(), scope.Attributes().AsRaw())
		}
	}
}

func TestExceptionsKeepOnlyTheirType(t *testing.T) {
	batch, span := oneSpan("otel_agent", "chat", nil)
	event := span.Events().AppendEmpty()
	event.SetName("exception")
	event.Attributes().PutStr("exception.type", "anthropic.APIStatusError")
	event.Attributes().PutStr("exception.message", canary)
	span.Events().AppendEmpty().SetName("gen_ai.choice")
	if _, err := sampleGuard(t).traces(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if span.Events().Len() != 1 || span.Events().At(0).Attributes().Len() != 1 {
		t.Errorf("left: %d events, %v", span.Events().Len(), span.Events().At(0).Attributes().AsRaw())
	}
}

func TestLinksKeepTheirIds(t *testing.T) {
	batch, span := oneSpan("otel_agent", "chat", nil)
	link := span.Links().AppendEmpty()
	link.SetTraceID([16]byte{9})
	link.SetFlags(1)
	link.TraceState().FromRaw("vendor=thought")
	if _, err := sampleGuard(t).traces(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if link.TraceID() != [16]byte{9} || link.Flags() != 1 || link.TraceState().AsRaw() != "" {
		t.Error("the link lost its ids or kept its trace state")
	}
}

func TestSchemaURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://opentelemetry.io/schemas/1.40.0":           "https://opentelemetry.io/schemas/1.40.0",
		"https://opentelemetry.io/schemas/1.40.0?" + canary: "",
		"https://example.com/" + canary:                     "",
		"":                                                  "",
	} {
		batch, _ := oneSpan("otel_agent", "chat", nil)
		batch.ResourceSpans().At(0).SetSchemaUrl(url)
		if _, err := sampleGuard(t).traces(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if got := batch.ResourceSpans().At(0).SchemaUrl(); got != want {
			t.Errorf("%q became %q", url, got)
		}
	}
}

func oneRecord(scope, event string) (plog.Logs, plog.ScopeLogs) {
	batch := plog.NewLogs()
	byScope := batch.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	byScope.Scope().SetName(scope)
	record := byScope.LogRecords().AppendEmpty()
	record.SetEventName(event)
	record.SetSeverityText("INFO")
	record.Body().SetStr(canary)
	record.Attributes().PutStr("error.type", "timeout")
	return batch, byScope
}

func TestLogRecordsLoseTheirBody(t *testing.T) {
	for scope, event := range map[string]string{"otel_agent": "otel_agent.model_turn", "foreign": "gen_ai.choice"} {
		batch, byScope := oneRecord(scope, event)
		if _, err := sampleGuard(t).logs(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		record := byScope.LogRecords().At(0)
		if record.Body().Type() != pcommon.ValueTypeEmpty || record.EventName() != event {
			t.Errorf("%s: body %v, name %q", scope, record.Body().Type(), record.EventName())
		}
		if record.SeverityText() != "INFO" || record.Attributes().Len() != 1 {
			t.Errorf("%s: severity %q, attributes %v", scope, record.SeverityText(), record.Attributes().AsRaw())
		}
	}
}

func TestUnknownOwnEventsAreDropped(t *testing.T) {
	batch, _ := oneRecord("otel_agent", "otel_agent.story")
	out, err := sampleGuard(t).logs(t.Context(), batch)
	if !errors.Is(err, processorhelper.ErrSkipProcessingData) || out.LogRecordCount() != 0 {
		t.Errorf("%d records left, error %v", out.LogRecordCount(), err)
	}
}

func TestForeignRecordsLoseOddNames(t *testing.T) {
	batch, byScope := oneRecord("foreign", canary)
	if _, err := sampleGuard(t).logs(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if got := byScope.LogRecords().At(0).EventName(); got != "" {
		t.Errorf("event name %q", got)
	}
}

func oneMetric(scope, name, unit string) (pmetric.Metrics, pmetric.ScopeMetrics) {
	batch := pmetric.NewMetrics()
	byScope := batch.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty()
	byScope.Scope().SetName(scope)
	metric := byScope.Metrics().AppendEmpty()
	metric.SetName(name)
	metric.SetUnit(unit)
	metric.SetDescription(canary)
	p := metric.SetEmptySum().DataPoints().AppendEmpty()
	p.SetIntValue(5)
	p.Attributes().PutStr("error.type", "timeout")
	p.Attributes().PutStr("user.name", canary)
	exemplar := p.Exemplars().AppendEmpty()
	exemplar.SetTraceID([16]byte{4})
	exemplar.FilteredAttributes().PutStr("error.type", "timeout")
	return batch, byScope
}

func TestMetrics(t *testing.T) {
	for _, c := range []struct {
		scope, name, unit, wantUnit, wantDescription string
		kept                                         int
	}{
		{"otel_agent", "otel_agent.turns", "{turn}", "{turn}", "Model turns.", 1},
		{"otel_agent", "otel_agent.turns", canary, "{turn}", "Model turns.", 1},
		{"otel_agent", "otel_agent.thoughts", "1", "", "", 0},
		{"foreign", "http.client.duration", "s", "s", "", 1},
		{"foreign", "http.client.duration", canary, "", "", 1},
		{"foreign", canary, "s", "", "", 0},
	} {
		batch, byScope := oneMetric(c.scope, c.name, c.unit)
		_, err := sampleGuard(t).metrics(t.Context(), batch)
		if batch.MetricCount() != c.kept || (err != nil) != (c.kept == 0) {
			t.Errorf("%v: %d metrics left, error %v", c, batch.MetricCount(), err)
		}
		if c.kept == 0 {
			continue
		}
		metric := byScope.Metrics().At(0)
		if metric.Unit() != c.wantUnit || metric.Description() != c.wantDescription {
			t.Errorf("%v: unit %q, description %q", c, metric.Unit(), metric.Description())
		}
		p := metric.Sum().DataPoints().At(0)
		exemplar := p.Exemplars().At(0)
		if p.IntValue() != 5 || p.Attributes().Len() != 1 || exemplar.FilteredAttributes().Len() != 0 || exemplar.TraceID() != [16]byte{4} {
			t.Errorf("%v: point %v, exemplar %v", c, p.Attributes().AsRaw(), exemplar.FilteredAttributes().AsRaw())
		}
	}
}

func TestRemovalsAreCountedByPlace(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	list, err := readAllowlist(sampleList)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(list, telemetry.NewTelemetrySettings())
	if err != nil {
		t.Fatal(err)
	}
	batch, span := oneSpan("otel_agent", canary, map[string]any{"a": "b", "c": "d"})
	span.Status().SetMessage(canary)
	for range 2 {
		if _, err := g.traces(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int64{"span_name": 1, "span_attribute": 2, "span_status_message": 1}
	if got := removedByPlace(t, telemetry); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v (a clean batch must add nothing)", got, want)
	}
}

func removedByPlace(t *testing.T, telemetry *componenttest.Telemetry) map[string]int64 {
	t.Helper()
	found, err := telemetry.GetMetric(removedCounter)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, p := range found.Data.(metricdata.Sum[int64]).DataPoints {
		where, _ := p.Attributes.Value("place")
		counts[where.AsString()] = p.Value
	}
	return counts
}

func TestEveryPlaceHasAName(t *testing.T) {
	seen := map[string]bool{}
	for where, name := range placeNames {
		if name == "" || seen[name] {
			t.Errorf("place %d: name %q", where, name)
		}
		seen[name] = true
	}
}

func BenchmarkOwnSpans(b *testing.B) {
	g := sampleGuard(b)
	facts := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-opus-5",
		"gen_ai.response.model": "claude-opus-5-20260801", "gen_ai.response.finish_reasons": []any{"end_turn"},
		"gen_ai.usage.input_tokens": int64(1200), "gen_ai.usage.output_tokens": int64(300), "error.type": "timeout",
		"otel_agent.response.truncated": false, "gen_ai.agent.name": "support", "gen_ai.request.temperature": 0.2,
	}
	batch, first := oneSpan("otel_agent", "chat claude-opus-5", facts)
	spans := batch.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for range 999 {
		first.CopyTo(spans.AppendEmpty())
	}
	ctx := context.Background()
	for b.Loop() {
		if _, err := g.traces(ctx, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans.Len()), "ns/span")
}
