package api

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Operation is a request as OpenAPI documents describe it.
type Operation struct {
	Method, Path, Summary string
	Query                 []string // parameters
	Body, Answer          reflect.Type
	Stream                string // media type, of an answer that is none in JSON
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Operations are the requests of users and programs. Those of agents and workers, which have a protocol of
// their own, are not among them.
func Operations() []Operation {
	get := func(path, summary string, answer reflect.Type, query ...string) Operation {
		return Operation{Method: "GET", Path: path, Summary: summary, Answer: answer, Query: query}
	}
	post := func(path, summary string, body, answer reflect.Type, query ...string) Operation {
		return Operation{Method: "POST", Path: path, Summary: summary, Body: body, Answer: answer, Query: query}
	}
	stream := func(path, media, summary string, query ...string) Operation {
		return Operation{Method: "GET", Path: path, Summary: summary, Stream: media, Query: query}
	}
	const lines = "application/x-ndjson"
	return []Operation{
		get("/v1/ping", "Who answers", typeOf[Ping]()),
		get("/v1/jobs", "List jobs, newest first. Without any of the parameters from limit on: a plain list", typeOf[JobPage](),
			"all", "users", "limit", "cursor", "fields", "state", "cluster", "program", "name", "text", "label",
			"deadline"),
		post("/v1/jobs", "Submit a job, or an array", typeOf[Submit](), typeOf[Submitted]()),
		post("/v1/jobs/bulk", "Submit several jobs", typeOf[SubmitMany](), typeOf[SubmittedMany]()),
		get("/v1/select", "Jobs that references name", typeOf[[]Job](), "job", "newest"),
		get("/v1/jobs/{id}", "A job", typeOf[Job]()),
		post("/v1/jobs/{id}/cancel", "End a job; answered when it has ended", nil, typeOf[Job](), "now"),
		post("/v1/jobs/{id}/migrate", "Move a job", typeOf[Migrate](), typeOf[Done]()),
		post("/v1/jobs/{id}/resize", "Change the size of a malleable job", typeOf[Resize](), typeOf[Done]()),
		post("/v1/jobs/{id}/checkpoint", "Save a job now", nil, typeOf[Done]()),
		post("/v1/jobs/{id}/hold", "Keep a job from starting", nil, typeOf[Done]()),
		post("/v1/jobs/{id}/release", "Let a held job start", nil, typeOf[Done]()),
		post("/v1/jobs/{id}/requeue", "Stop a job and start it again later", typeOf[Requeue](), typeOf[Done]()),
		post("/v1/jobs/{id}/suspend", "Halt the program of a job", nil, typeOf[Done]()),
		post("/v1/jobs/{id}/resume", "Let a suspended job go on", nil, typeOf[Done]()),
		post("/v1/jobs/{id}/update", "Change the deadline, begin time, name, labels or clusters of a job",
			typeOf[Update](), typeOf[Done]()),
		get("/v1/jobs/{id}/explain", "What was decided for a job, oldest first", typeOf[[]Decision]()),
		get("/v1/jobs/{id}/timeline", "Where a job has been, and what was predicted of its end", typeOf[Timeline]()),
		stream("/v1/jobs/{id}/logs", "text/plain", "What a job wrote", "stream", "offset", "follow", "part"),
		stream("/v1/jobs/{id}/watch", lines, "Lines of Live, until the job has ended"),
		stream("/v1/events", "text/event-stream", "Changes, each with the number of an event of the log as its id",
			"job", "since", "users"),
		post("/v1/flows", "Submit a workflow", typeOf[FlowSubmit](), typeOf[FlowSubmitted]()),
		get("/v1/flows", "List workflows", typeOf[[]Flow](), "all", "users"),
		get("/v1/flows/{id}", "A workflow", typeOf[Flow]()),
		get("/v1/flows/{id}/tasks", "What became of its tasks", typeOf[[]FlowTask]()),
		post("/v1/flows/{id}/cancel", "End a workflow", nil, typeOf[Flow]()),
		get("/v1/flows/{id}/explain", "What was decided for a workflow", typeOf[[]Decision]()),
		stream("/v1/flows/{id}/watch", lines, "Lines of FlowLive, until the workflow has ended"),
		post("/v1/pools", "Submit a pool of work items", typeOf[PoolSubmit](), typeOf[PoolSubmitted]()),
		get("/v1/pools", "List pools", typeOf[[]Pool](), "all", "users"),
		get("/v1/pools/{id}", "A pool", typeOf[Pool]()),
		get("/v1/pools/{id}/failures", "Items that failed", typeOf[[]PoolFailure]()),
		post("/v1/pools/{id}/cancel", "End a pool", nil, typeOf[Pool]()),
		stream("/v1/pools/{id}/watch", lines, "Its states, until it has ended"),
		stream("/v1/pools/{id}/outcomes", lines, "What became of its items"),
		post("/v1/quote", "What each cluster would make of a job", typeOf[Submit](), typeOf[[]Quote]()),
		post("/v1/estimates", "How long commands run, by earlier runs", typeOf[Commands](), typeOf[[]Estimate]()),
		get("/v1/clusters", "List the clusters", typeOf[[]Cluster]()),
		post("/v1/drain", "Have nothing new placed on clusters or hosts", typeOf[Drains](), typeOf[[]Drained]()),
		post("/v1/undrain", "Use them again", typeOf[Drains](), typeOf[[]Drained]()),
		get("/v1/hosts", "List the hosts", typeOf[[]Host](), "on"),
		get("/v1/weather", "What is measured and forecast of networks and hosts", typeOf[Weather](), "over", "since"),
		get("/v1/weather/graph", "How well hosts are connected", typeOf[Graph](), "on", "over"),
		get("/v1/history", "What past runs were like", typeOf[[]History](), "program"),
		get("/v1/history/calibration", "How past predictions held", typeOf[Calibration]()),
		stream("/v1/log", lines, "The log of the broker", "since"),
		get("/v1/depot-usage", "What the depot holds", typeOf[DepotUsage](), "older_s"),
		post("/v1/depot-prune", "Free what no job needs", typeOf[DepotPrune](), typeOf[DepotUsage]()),
		post("/v1/reload", "Read the settings again", nil, typeOf[Reloaded]()),
		post("/v1/shutdown", "End the broker; jobs run on", nil, typeOf[Done]()),
		get("/v1/openapi.json", "This document", typeOf[map[string]any]()),
		stream("/metrics", "text/plain", "Figures in Prometheus' text format"),
	}
}

// Document is the OpenAPI document of all operations, of the types that clients and brokers of this version use.
func Document(version string) map[string]any {
	d := &describer{schemas: map[string]any{}}
	paths := map[string]any{}
	refused := map[string]any{"description": "Refused", "content": d.jsonContent(typeOf[Error]())}
	for _, op := range Operations() {
		answer := map[string]any{"description": "Done"}
		if op.Stream != "" {
			answer["content"] = map[string]any{op.Stream: map[string]any{"schema": map[string]any{"type": "string"}}}
		} else {
			answer["content"] = d.jsonContent(op.Answer)
		}
		about := map[string]any{"summary": op.Summary, "responses": map[string]any{"200": answer, "default": refused}}
		parameters := []any{}
		if strings.Contains(op.Path, "{id}") {
			parameters = append(parameters, parameter("id", "path", true))
		}
		for _, name := range op.Query {
			parameters = append(parameters, parameter(name, "query", false))
		}
		if len(parameters) > 0 {
			about["parameters"] = parameters
		}
		if op.Body != nil {
			about["requestBody"] = map[string]any{"content": d.jsonContent(op.Body)}
		}
		if paths[op.Path] == nil {
			paths[op.Path] = map[string]any{}
		}
		paths[op.Path].(map[string]any)[strings.ToLower(op.Method)] = about
	}
	return map[string]any{"openapi": "3.1.0", "paths": paths, "components": map[string]any{"schemas": d.schemas},
		"info": map[string]any{"title": "Godwit", "version": version}}
}

func parameter(name, in string, required bool) map[string]any {
	return map[string]any{"name": name, "in": in, "required": required, "schema": map[string]any{"type": "string"}}
}

// describer describes types, structs by a reference to where they are described once.
type describer struct{ schemas map[string]any }

func (d *describer) jsonContent(t reflect.Type) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": d.schema(t)}}
}

func (d *describer) schema(t reflect.Type) map[string]any {
	one := func(kind string) map[string]any { return map[string]any{"type": kind} }
	if t == typeOf[Time]() || t.PkgPath() == "time" && t.Name() == "Time" {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if t.Kind() != reflect.Pointer && (t.Implements(typeOf[encoding.TextMarshaler]()) ||
		reflect.PointerTo(t).Implements(typeOf[encoding.TextMarshaler]())) {
		return d.named(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{d.schema(t.Elem()), one("null")}}
	case reflect.Bool:
		return one("boolean")
	case reflect.Float32, reflect.Float64:
		return one("number")
	case reflect.String:
		return one("string")
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return one("string")
		}
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		return d.object(t)
	}
	return one("integer")
}

// named describes a type that is written as a text; of states, which.
func (d *describer) named(t reflect.Type) map[string]any {
	if t != typeOf[core.State]() {
		return map[string]any{"type": "string"}
	}
	var names []any
	for s := core.Submitted; s <= core.Cancelled; s++ {
		names = append(names, s.String())
	}
	return map[string]any{"type": "string", "enum": names}
}

func (d *describer) object(t reflect.Type) map[string]any {
	name := t.Name()
	if pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]; pkg != "api" {
		name = pkg + "." + name
	}
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if d.schemas[name] != nil {
		return ref
	}
	properties, required := map[string]any{}, []any{}
	d.schemas[name] = map[string]any{"type": "object"} // it may contain itself
	d.addFields(t, properties, &required)
	about := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		about["required"] = required
	}
	d.schemas[name] = about
	return ref
}

func (d *describer) addFields(t reflect.Type, properties map[string]any, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			d.addFields(inner, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = d.schema(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
