package guardprocessor

// place says where something was removed. The set is closed, so that the counter's series are bounded.
type place int

const (
	placeResourceAttribute place = iota
	placeResourceEntity
	placeSchemaURL
	placeScopeName
	placeScopeVersion
	placeScopeAttribute
	placeSpanName
	placeSpanAttribute
	placeSpanStatusMessage
	placeSpanTraceState
	placeSpanEvent
	placeSpanEventAttribute
	placeSpanLinkAttribute
	placeSpanLinkTraceState
	placeLogRecord
	placeLogEventName
	placeLogSeverityText
	placeLogBody
	placeLogAttribute
	placeMetric
	placeMetricDescription
	placeMetricUnit
	placeMetricMetadata
	placePointAttribute
	placeExemplarAttribute
	placeCount
)

var placeNames = [placeCount]string{
	placeResourceAttribute:  "resource_attribute",
	placeResourceEntity:     "resource_entity",
	placeSchemaURL:          "schema_url",
	placeScopeName:          "scope_name",
	placeScopeVersion:       "scope_version",
	placeScopeAttribute:     "scope_attribute",
	placeSpanName:           "span_name",
	placeSpanAttribute:      "span_attribute",
	placeSpanStatusMessage:  "span_status_message",
	placeSpanTraceState:     "span_trace_state",
	placeSpanEvent:          "span_event",
	placeSpanEventAttribute: "span_event_attribute",
	placeSpanLinkAttribute:  "span_link_attribute",
	placeSpanLinkTraceState: "span_link_trace_state",
	placeLogRecord:          "log_record",
	placeLogEventName:       "log_event_name",
	placeLogSeverityText:    "log_severity_text",
	placeLogBody:            "log_body",
	placeLogAttribute:       "log_attribute",
	placeMetric:             "metric",
	placeMetricDescription:  "metric_description",
	placeMetricUnit:         "metric_unit",
	placeMetricMetadata:     "metric_metadata",
	placePointAttribute:     "point_attribute",
	placeExemplarAttribute:  "exemplar_attribute",
}

// tally counts the removals of one batch, so that the shared counter is touched once per place and batch.
type tally [placeCount]int64

func (t *tally) add(where place) { t[where]++ }

// emptied counts a text that was there, and returns what replaces it: nothing.
func (t *tally) emptied(where place, text string) string {
	return t.replaced(where, text, "")
}

// replaced counts a text that differs from what replaces it.
func (t *tally) replaced(where place, text, by string) string {
	if text != by {
		t[where]++
	}
	return by
}
