// One job: where it has been, what is predicted of its end, what was decided for it, what it wrote.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, Decision, Job as JobData, Segment, Timeline } from "./api";
import { Chart } from "./chart";
import { askFor, labelOf, verbs } from "./jobs";
import { hear, seen, watch } from "./stream";
import { Command, Empty, route, State, Table, useAnswer, useEvery, Wrong } from "./ui";
import { at, bytes, isOver, moment, now, percent, span } from "./words";

const tabs = [["", "Overview"], ["explain", "Decisions"], ["logs", "Output"]];

export function Job() {
  const { path } = route();
  const id = path[1], tab = path[2] ?? "";
  const first = useAnswer<JobData>(`v1/jobs/${encodeURIComponent(id)}`);
  const number = first.value?.id;
  useEffect(() => {
    if (number) watch([number]);
    return () => watch([]);
  }, [number]);
  useEffect(() => hear((m) => { if (m.reset || m.changes.some((c) => c.job === number && c.to && isOver(c.to))) first.again(); }), [number]);
  const job = (number && seen.value[number]) || first.value;
  if (first.error) return <main><h1>Job {id}</h1><Wrong text={first.error} /></main>;
  if (!job) return <main><h1>Job {id}</h1></main>;
  return <main><h1>Job {labelOf(job)} <span class="name">{job.name}</span> <State state={job.state} /></h1>
    <p>{job.held && <b>held. </b>}{job.suspended && <b>suspended since {moment(job.suspended)}. </b>}{job.why}</p>
    {job.labels && <p>{Object.entries(job.labels).map(([k, v]) => <a class="label" href={`#/jobs?label=${encodeURIComponent(`${k}=${v}`)}`}>{k}={v}</a>)}</p>}
    {!isOver(job.state) && <div class="actions" role="toolbar" aria-label="Actions">
      {verbs.filter((v) => v[3](job)).map((v) => <button onClick={() => askFor([job], v)}>{v[1]}…</button>)}</div>}
    <nav class="tabs" aria-label="Of this job">{tabs.map(([name, title]) =>
      <a href={`#/job/${id}${name && "/" + name}`} aria-current={tab === name ? "page" : undefined}>{title}</a>)}</nav>
    {tab === "" && <Overview job={job} />}
    {tab === "explain" && <Explain job={job} />}
    {tab === "logs" && <Logs job={job} />}
  </main>;
}

function Overview({ job }: { job: JobData }) {
  const t = useAnswer<Timeline>(`v1/jobs/${job.id}/timeline`, [job.state, job.attempts, job.checkpoints]);
  useEvery(isOver(job.state) ? 3600 : 3, t.again);
  const facts: [string, string][] = [
    ["Cluster", job.cluster || "–"], ["Hosts", job.hosts.join(", ") || "–"], ["Cores", `${job.procs}`], ["Submitted", moment(job.submitted)],
    ["Started", moment(job.started)], ["Ended", moment(job.ended)], ["Ran", span(job.wall_s)], ["CPU time", span(job.cpu_s)],
    ["Deadline", moment(job.deadline)],
    ["Chance", job.deadline_met != null ? (job.deadline_met ? "met" : "missed") : percent(job.p_deadline)],
    ["Predicted end", isOver(job.state) ? "–" : moment(job.predicted_end)], ["Progress", percent(job.progress)], ["CPU share", percent(job.share)],
    ["Memory", bytes(isOver(job.state) ? job.peak_memory : job.memory)], ["Moves", `${job.migrations}`], ["Checkpoints", `${job.checkpoints} ${job.method}`],
    ["Exit code", job.exit_code == null ? "–" : `${job.exit_code}`],
  ];
  return <>
    <dl class="facts">{facts.map(([k, v]) => <div><dt>{k}</dt><dd>{v}</dd></div>)}</dl>
    {job.warnings?.map((w) => <p class="warning">{w}</p>)}
    <h2>Where it has been</h2>
    {t.error && <Wrong text={t.error} />}
    {t.value && <Stretches t={t.value} />}
    <h2>Predicted end against the deadline</h2>
    {t.value && <Band t={t.value} job={job} />}
    <h2>Command</h2><pre class="source" tabIndex={0}>{job.command.join(" ")}</pre>
    <Command text={`godwit show ${job.id}`} /></>;
}

/** Stretches of time, a line for each cluster. */
function Stretches({ t }: { t: Timeline }) {
  const begin = t.segments.length ? at(t.segments[0].from) : now.value;
  const ends = t.segments.map((s) => (s.to ? at(s.to) : at(t.now)));
  const until = Math.max(...ends, t.deadline ? Math.min(at(t.deadline), at(t.now) + 3 * (at(t.now) - begin)) : 0, begin + 1000);
  const x = (ms: number) => `${(100 * (ms - begin)) / (until - begin)}%`;
  const lines = ["", ...new Set(t.segments.map((s) => s.cluster ?? "").filter(Boolean))];
  const title = (s: Segment) => `${s.kind}${s.cluster ? ` on ${s.cluster}` : ""}, ${span(((s.to ? at(s.to) : at(t.now)) - at(s.from)) / 1000)}` +
    `${s.outcome ? `, ${s.outcome}` : ""}`;
  return <div class="timeline"><div role="img" aria-label={`Timeline: ${t.segments.map(title).join("; ")}`}>
    {lines.map((cluster) => <div class="lane"><span class="of">{cluster || "nowhere"}</span><div class="bar">
      {t.segments.filter((s) => (s.cluster ?? "") === cluster).map((s) => <i class={s.kind} title={title(s)}
        style={{ left: x(at(s.from)), width: x(begin + (s.to ? at(s.to) : at(t.now)) - at(s.from)) }} />)}
      {t.marks.filter((m) => m.kind === "checkpoint" && t.segments.some((s) => (s.cluster ?? "") === cluster && at(s.from) <= at(m.at) &&
        at(m.at) <= (s.to ? at(s.to) : at(t.now)))).map((m) => <b title={`${m.text}, ${moment(m.at)}`} style={{ left: x(at(m.at)) }} />)}
      {t.deadline && at(t.deadline) <= until && <em title={`deadline ${moment(t.deadline)}`} style={{ left: x(at(t.deadline)) }} />}
    </div></div>)}</div>
    <p class="legend">{["waiting", "starting", "running", "moving"].map((k) => <span><i class={`key ${k}`} />{k}</span>)}
      <span><i class="key point" />checkpoint</span>{t.deadline && <span><i class="key deadline" />deadline</span>}
      <span class="quiet">{moment(begin)} to {moment(until)}</span></p>
    <details><summary>Values</summary><Table caption="Timeline: values" head={["what", "cluster", "attempt", "from", "to", "outcome"]}
      rows={t.segments.map((s) => [s.kind, s.cluster ?? "", s.attempt ?? "", moment(s.from), s.to ? moment(s.to) : "now", s.outcome ?? ""])} /></details>
  </div>;
}

const secondsOf = (t: string | null) => (t ? at(t) / 1000 : null);

/** The band of the predicted end over time, with the deadline, and the chance below it. */
function Band({ t, job }: { t: Timeline; job: JobData }) {
  const o = t.outlooks;
  const moves = useMemo(() => t.marks.filter((m) => m.kind === "move" || m.kind === "lost").map((m) => at(m.at) / 1000), [t]);
  if (o.length === 0) {
    return <Empty><p>{job.started ? "Nothing was predicted of this job." : "Predictions begin when the job runs."}</p>
      <p>A program that says how far it is (<code>godwit tell progress</code>, or <code>progress:</code> in its job file) is predicted best.</p></Empty>;
  }
  const times = o.map((p) => at(p.at) / 1000);
  const deadline = secondsOf(t.deadline);
  const lines = [{ label: "95 %", values: o.map((p) => secondsOf(p.p95)), colour: "c-late", width: 1 },
    { label: "median", values: o.map((p) => secondsOf(p.p50)), colour: "c-main" },
    { label: "5 %", values: o.map((p) => secondsOf(p.p05)), colour: "c-late", width: 1 }];
  if (deadline) lines.push({ label: "deadline", values: o.map(() => deadline), colour: "c-deadline", dashed: true } as never);
  const chances = o.map((p) => p.p_deadline);
  return <><Chart title="Predicted end" times={times} lines={lines} bands={[[1, 3]]} format={(v) => moment(1000 * v)} marks={moves} />
    {chances.some((c) => c != null) && <Chart title="Chance to meet the deadline" times={times} format={percent} marks={moves}
      lines={[{ label: "chance", values: chances, colour: "c-main" },
        ...(job.confidence ? [{ label: "confidence wanted", values: o.map(() => job.confidence), colour: "c-deadline", dashed: true }] : [])]} />}
    <p class="quiet">One point every five seconds, later one for each hundredth of the run; dashed uprights are moves.</p></>;
}

function Explain({ job }: { job: JobData }) {
  const e = useAnswer<Decision[]>(`v1/jobs/${job.id}/explain`, [job.state, job.attempts]);
  useEvery(isOver(job.state) ? 3600 : 5, e.again);
  return <>{e.error && <Wrong text={e.error} />}
    <ol class="decisions">{e.value?.map((d) => <li><time title={moment(d.time)}>+{span(d.since_s)}</time> <b class="kind">{d.kind}</b>{" "}
      <span>{d.choice}</span><p>{d.why}</p>
      {Object.keys(d.inputs).length > 0 && <details><summary>Numbers</summary><Inputs value={d.inputs} /></details>}</li>)}</ol>
    <Command text={`godwit explain ${job.id}`} /></>;
}

function Inputs({ value }: { value: unknown }) {
  if (value && typeof value === "object") {
    return <dl class="inputs">{Object.entries(value).map(([k, v]) => <div><dt>{k}</dt><dd><Inputs value={v} /></dd></div>)}</dl>;
  }
  return <>{typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : String(value)}</>;
}

const keptText = 400_000; // characters of output that the page holds

function Logs({ job }: { job: JobData }) {
  const [stream, setStream] = useState(1);
  const [text, setText] = useState("");
  const [cut, setCut] = useState(false);
  const [find, setFind] = useState("");
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    setText("");
    setCut(false);
    void (async () => {
      let offset = 0;
      while (!stop.signal.aborted) {
        try {
          const answer = await fetch(`v1/jobs/${job.id}/logs?stream=${stream}&offset=${offset}&follow=1`, { signal: stop.signal });
          if (!answer.ok) return;
          const reader = answer.body!.getReader(), words = new TextDecoder();
          for (;;) {
            const { value, done } = await reader.read();
            if (done) return;
            offset += value.length;
            const more = words.decode(value, { stream: true });
            setText((t) => {
              const all = t + more;
              if (all.length > keptText) setCut(true);
              return all.slice(-keptText);
            });
          }
        } catch {
          await new Promise((r) => setTimeout(r, 1000)); // the broker is gone: on where it was cut off
        }
      }
    })();
    return () => stop.abort();
  }, [job.id, stream]);
  useEffect(() => { if (follow && box.current) box.current.scrollTop = box.current.scrollHeight; }, [text, follow]);
  const lines = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").split("\n");
  const shown = find ? lines.filter((l) => l.toLowerCase().includes(find.toLowerCase())) : lines;
  return <><div class="filters" role="group" aria-label="Output">
    <button aria-pressed={stream === 1} onClick={() => setStream(1)}>stdout</button>
    <button aria-pressed={stream === 2} onClick={() => setStream(2)}>stderr</button>
    <input type="search" aria-label="Search in the output" placeholder="Search" value={find} onInput={(e) => setFind(e.currentTarget.value)} />
    <label><input type="checkbox" checked={follow} onChange={() => setFollow(!follow)} /> stay at the end</label>
    <a href={`v1/jobs/${job.id}/logs?stream=${stream}&offset=0`} download={`job-${job.id}.${stream === 1 ? "out" : "err"}`}>Download</a></div>
    {find && <p class="quiet">{shown.length} of {lines.length} lines</p>}
    {cut && <p class="quiet">Only the end is shown; the download has all of it.</p>}
    <pre class="output" ref={box} tabIndex={0} aria-label="Output">{shown.join("\n") || "Nothing was written yet."}</pre>
    <Command text={`godwit logs ${job.id} -f`} /></>;
}
