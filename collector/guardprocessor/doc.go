// Package guardprocessor is the collector's wall against generated text: it lets through what a generated list names,
// and nothing else.
//
// It reads schema/allowlist.json. Records of our own scopes keep the listed attributes whose values fit their type and
// pattern; every other scope keeps structure and numbers. Strings outside of attributes (names, event names, links,
// trace state, status messages, exemplars, bodies, scopes, resources, metric texts, schema addresses) have rules too:
// see the closed set of places in places.go. What is removed is counted by place; its text is never logged.
//
// It fails closed: without a complete, well-formed list the collector does not start.
package guardprocessor
