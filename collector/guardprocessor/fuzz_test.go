package guardprocessor

import (
	"errors"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

// shapes seeds every fuzz test: each makes the planter take another branch.
var shapes = [][]byte{
	nil, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2, 2, 2, 2},
	{2, 7, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4, 3, 2, 1, 0, 3, 3, 3, 3, 1, 2, 3, 4, 4, 5, 5, 0, 1},
	[]byte("any text will do as a shape, the longer the more branches it takes on its way through the planter"),
}

func guardTraces(t *testing.T, g *guard, batch ptrace.Traces) {
	t.Helper()
	out, err := g.traces(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	marshalled, err := (&ptrace.JSONMarshaler{}).MarshalTraces(out)
	if err != nil {
		t.Fatal(err)
	}
	proseFree(t, g, marshalled)
}

func guardLogs(t *testing.T, g *guard, batch plog.Logs) {
	t.Helper()
	out, err := g.logs(t.Context(), batch)
	if err != nil && !errors.Is(err, processorhelper.ErrSkipProcessingData) {
		t.Fatal(err)
	}
	marshalled, err := (&plog.JSONMarshaler{}).MarshalLogs(out)
	if err != nil {
		t.Fatal(err)
	}
	proseFree(t, g, marshalled)
}

func guardMetrics(t *testing.T, g *guard, batch pmetric.Metrics) {
	t.Helper()
	out, err := g.metrics(t.Context(), batch)
	if err != nil && !errors.Is(err, processorhelper.ErrSkipProcessingData) {
		t.Fatal(err)
	}
	marshalled, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(out)
	if err != nil {
		t.Fatal(err)
	}
	proseFree(t, g, marshalled)
}

func FuzzPlantedTraces(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		f.Add(shape)
	}
	f.Fuzz(func(t *testing.T, shape []byte) { guardTraces(t, g, (&choices{shape}).traces()) })
}

func FuzzPlantedLogs(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		f.Add(shape)
	}
	f.Fuzz(func(t *testing.T, shape []byte) { guardLogs(t, g, (&choices{shape}).logs()) })
}

func FuzzPlantedMetrics(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		f.Add(shape)
	}
	f.Fuzz(func(t *testing.T, shape []byte) { guardMetrics(t, g, (&choices{shape}).metrics()) })
}

// The fuzz tests on bytes mutate OTLP as it comes over the wire, planted batches first.

func FuzzBytesTraces(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		planted, err := (&ptrace.ProtoMarshaler{}).MarshalTraces((&choices{shape}).traces())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(planted)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		if batch, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire); err == nil {
			guardTraces(t, g, batch)
		}
	})
}

func FuzzBytesLogs(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		planted, err := (&plog.ProtoMarshaler{}).MarshalLogs((&choices{shape}).logs())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(planted)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		if batch, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(wire); err == nil {
			guardLogs(t, g, batch)
		}
	})
}

func FuzzBytesMetrics(f *testing.F) {
	g := sampleGuard(f)
	for _, shape := range shapes {
		planted, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics((&choices{shape}).metrics())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(planted)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		if batch, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(wire); err == nil {
			guardMetrics(t, g, batch)
		}
	})
}
