// New job; how good predictions were; what happened; how the broker is.
import { useState } from "preact/hooks";
import { ask, Ping, Quote } from "./api";
import { happened, lastEvent } from "./stream";
import { Command, Empty, Table, useAnswer, useEvery, Wrong } from "./ui";
import { bytes, moment, percent, span, stateText } from "./words";

/** Seconds of a time such as 90s, 20m, 2h30m; NaN if it is none. */
function secondsOf(text: string): number {
  if (!/^(\d+(\.\d+)?[smhd])+$/.test(text)) return NaN;
  return [...text.matchAll(/([\d.]+)([smhd])/g)].reduce((n, m) => n + Number(m[1]) * { s: 1, m: 60, h: 3600, d: 86400 }[m[2]]!, 0);
}

export function NewJob() {
  const [command, setCommand] = useState("");
  const [name, setName] = useState("");
  const [procs, setProcs] = useState("1");
  const [deadline, setDeadline] = useState("");
  const [quotes, setQuotes] = useState<Quote[] | null>(null);
  const [error, setError] = useState("");
  const job = () => {
    const n = Number(procs);
    if (!command.trim()) throw new Error("Command: what is to be run is missing.");
    if (!Number.isInteger(n) || n < 1) throw new Error("Cores: a whole number of at least 1.");
    if (deadline && !(secondsOf(deadline) > 0)) throw new Error("Deadline: a time such as 90s, 20m or 2h30m.");
    return { job: { name: name.trim() || undefined, argv: ["sh", "-c", command], min: n, max: n, kind: "rigid",
      deadline: deadline ? Math.round(1e9 * secondsOf(deadline)) : undefined } };
  };
  const attempt = async (f: () => Promise<void>) => {
    setError("");
    try { await f(); } catch (e) { setError((e as Error).message); }
  };
  const quote = () => attempt(async () => setQuotes(await ask<Quote[]>("v1/quote", job())));
  const submit = () => attempt(async () => {
    const { ids } = await ask<{ ids: number[] }>("v1/jobs", job());
    location.hash = `#/job/${ids[0]}`;
  });
  const flags = `${deadline ? `--deadline ${deadline} ` : ""}${procs !== "1" ? `--procs ${procs} ` : ""}`;
  return <main><h1>New job</h1>
    <form onSubmit={(e) => { e.preventDefault(); void submit(); }}>
      <label>Command or shell script<textarea id="command" rows={8} spellcheck={false} value={command} onInput={(e) => setCommand(e.currentTarget.value)}
        placeholder={"python3 train.py --seed 7"} /></label>
      <div class="fields"><label>Name<input value={name} onInput={(e) => setName(e.currentTarget.value)} placeholder="as the program" /></label>
        <label>Cores<input inputMode="numeric" value={procs} onInput={(e) => setProcs(e.currentTarget.value)} /></label>
        <label>Deadline<input value={deadline} onInput={(e) => setDeadline(e.currentTarget.value)} placeholder="none, or 20m" /></label></div>
      <p class="quiet">It starts in an empty folder. For files of yours, and for <code>#SBATCH</code> or <code>#$</code> lines: <code>godwit submit FILE</code>.</p>
      {error && <Wrong text={error} />}
      <div class="buttons"><button type="button" onClick={quote}>Quote</button><button class="main" type="submit">Submit</button></div>
    </form>
    {quotes && <><h2>What each cluster would make of it</h2>
      <Table caption="Quotes" head={["Cluster", "Wait", "Transfer", "Run", "Done (median)", "Done (90 %)", "Chance", "Reason"]} numbers={[1, 2, 3, 6]}
        rows={quotes.map((q) => [q.cluster, span(q.wait_s), span(q.transfer_s), span(q.run_s), moment(q.finish_p50), moment(q.finish_p90),
          percent(q.p_deadline), q.reason])} /></>}
    <Command text={`godwit run ${flags}-- sh -c ${command ? `'${command.replace(/'/g, "'\\''")}'` : "'…'"}`} /></main>;
}

interface Past {
  program: string; cluster: string; runs: number; failed: number; missed: number; cpu_p50: number | null; wall_p50: number | null;
  wall_p90: number | null; wait_mean_s: number | null; last: string | null;
}
interface Calibration {
  predictions: number; bands: { band: number; held: number; count: number }[]; median_error: number | null;
  chances: { from: number; to: number; mean: number; met: number; count: number }[];
}

export function History() {
  const h = useAnswer<Past[]>("v1/history"), c = useAnswer<Calibration>("v1/history/calibration");
  const k = c.value;
  return <main><h1>How it went</h1>
    <h2>How good predictions were</h2>{c.error && <Wrong text={c.error} />}
    {k && (k.predictions === 0 ? <Empty><p>No job with a quote has ended yet.</p><p>Each job that ends is compared with what was predicted for it.</p></Empty> : <>
      <p>{k.predictions} predictions; the median error of the remaining time is {percent(k.median_error)}.</p>
      <Table caption="Bands" head={["Band", "Ends inside it", "Jobs"]} numbers={[0, 1, 2]} rows={k.bands.map((b) => [percent(b.band), percent(b.held), b.count])} />
      {k.chances.length > 0 && <Table caption="Chances" head={["Chance given", "Mean", "Deadlines met", "Jobs"]} numbers={[0, 1, 2, 3]}
        rows={k.chances.map((x) => [`${percent(x.from)} to ${percent(x.to)}`, percent(x.mean), percent(x.met), x.count])} />}</>)}
    <h2>Programs</h2>{h.error && <Wrong text={h.error} />}
    {h.value?.length === 0 ? <Empty><p>Nothing has run yet.</p></Empty> :
      <Table caption="Programs" head={["Program", "Cluster", "Runs", "Failed", "Missed", "CPU (median)", "Ran (median)", "Ran (90 %)", "Waited (mean)", "Last"]}
        numbers={[2, 3, 4, 5, 6, 7, 8]} rows={(h.value ?? []).map((x) => [<a href={`#/jobs?program=${encodeURIComponent(x.program)}`}>{x.program}</a>, x.cluster,
          x.runs, x.failed, x.missed, span(x.cpu_p50), span(x.wall_p50), span(x.wall_p90), span(x.wait_mean_s), moment(x.last)])} />}
    <Command text="godwit history" /></main>;
}

interface Usage { bytes: number; unused_bytes: number; held: { job: number; name: string; what: string; bytes: number }[] }

export function Health() {
  const p = useAnswer<Ping>("v1/ping"), d = useAnswer<Usage>("v1/depot-usage");
  useEvery(5, p.again);
  const list = happened.value.slice(-200).reverse();
  return <main><h1>Broker</h1>{p.error && <Wrong text={p.error} />}
    {p.value && <dl class="facts"><div><dt>Version</dt><dd>{p.value.version}</dd></div><div><dt>Process</dt><dd>{p.value.pid}</dd></div>
      <div><dt>Jobs that live</dt><dd>{p.value.jobs}</dd></div><div><dt>State folder</dt><dd>{p.value.state}</dd></div>
      <div><dt>Depot</dt><dd>{d.value ? `${bytes(d.value.bytes)}, ${bytes(d.value.unused_bytes)} unused` : "–"}</dd></div>
      <div><dt>Last event</dt><dd>{lastEvent.value}</dd></div></dl>}
    {p.value?.embedded && <p class="quiet">It was started by a command and ends when it has nothing to do; <code>godwit up</code> starts one that stays.</p>}
    {p.value?.stale && <p class="warning">The settings were changed since it read them: <code>godwit reload</code>.</p>}
    <h2>What happens</h2>
    {list.length === 0 ? <Empty><p>Nothing has happened since this page was opened.</p></Empty> :
      <Table caption="Events" head={["Event", "When", "Job", "What"]} numbers={[0]} rows={list.map((c) => [<span data-event={c.event}>{c.event}</span>, moment(c.at),
        <a href={`#/job/${c.job}`}>{c.job}</a>, c.to ? `${stateText(c.from!)} → ${stateText(c.to)}` : c.kind])} />}
    <Command text="godwit log export" /></main>;
}
