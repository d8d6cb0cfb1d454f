// Clusters, hosts, and the weather of networks and hosts.
import { useState } from "preact/hooks";
import { Cluster, Host, Reading, Series } from "./api";
import { Chart } from "./chart";
import { Command, Empty, Table, useAnswer, useEvery, Wrong } from "./ui";
import { bytes, percent, span } from "./words";

export function Clusters() {
  const c = useAnswer<Cluster[]>("v1/clusters"), h = useAnswer<Host[]>("v1/hosts");
  useEvery(5, () => { c.again(); h.again(); });
  return <main><h1>Clusters</h1>{c.error && <Wrong text={c.error} />}
    <div class="cards">{c.value?.map((x) => <section class="card" aria-label={x.name}>
      <h2>{x.name} <span class={`state ${x.state === "up" ? "running" : x.state === "down" ? "failed" : "waiting"}`}>{x.state}</span></h2>
      <p class="quiet">{x.driver}, {x.hosts} {x.hosts === 1 ? "host" : "hosts"}</p>
      <div class="meter" role="img" aria-label={`${x.procs - x.idle} of ${x.procs} cores are in use`}>
        <i class="running" style={{ width: `${x.procs ? (100 * (x.procs - x.idle - (x.others ?? 0))) / x.procs : 0}%` }} />
        <i class="others" style={{ width: `${x.procs ? (100 * (x.others ?? 0)) / x.procs : 0}%` }} /></div>
      <p><b>{x.idle}</b> of {x.procs} cores idle{x.others ? `, ${x.others} held by others` : ""}</p>
      <dl class="facts small"><div><dt>Running</dt><dd><a href={`#/jobs?cluster=${encodeURIComponent(x.name)}&state=running`}>{x.running}</a></dd></div>
        <div><dt>Waiting</dt><dd>{x.waiting}</dd></div><div><dt>Speed</dt><dd>{x.speed ? x.speed.toFixed(2) : "–"}</dd></div>
        <div><dt>CPU share</dt><dd>{percent(x.share)}</dd></div><div><dt>Reliability</dt><dd>{percent(x.reliability)}</dd></div>
        <div><dt>Checkpoints</dt><dd>{x.methods.join(", ") || "none"}</dd></div></dl>
      {x.why && <p class="warning">{x.why}</p>}{x.notes?.map((n) => <p class="quiet">{n}</p>)}</section>)}</div>
    <h2>Hosts</h2>
    {h.value?.length === 0 ? <Empty><p>No cluster has said yet which hosts it has.</p></Empty> :
      <Table caption="Hosts" head={["Host", "Cluster", "State", "Cores", "Free", "Speed", "CPU share", "Memory free", "Why"]} numbers={[3, 4, 5, 6, 7]}
        rows={(h.value ?? []).map((x) => [x.name, x.cluster, x.state, x.cores ?? "–", x.free ?? "–", x.speed?.toFixed(2) ?? "–", percent(x.share),
          bytes(x.memory), x.why])} />}
    <Command text="godwit clusters; godwit hosts" /></main>;
}

const nameOf = (s: { what: string; from: string; to: string }) => `${s.what} ${s.from}${s.to ? ` → ${s.to}` : ""}`;
const measured = (what: string, v: number | null | undefined) => (v == null ? "–" : what === "bandwidth" ? `${v.toFixed(1)} Mbit/s` :
  what === "latency" ? `${v.toFixed(2)} ms` : what === "cpu" ? percent(v) : v.toPrecision(4));

export function Weather() {
  const w = useAnswer<{ series: Series[]; readings?: Reading[] }>("v1/weather?since=7200");
  useEvery(10, w.again);
  const [picked, pick] = useState("");
  const series = w.value?.series ?? [];
  const one = series.find((s) => nameOf(s) === picked) ?? series[0];
  const points = (w.value?.readings ?? []).filter((r) => one && nameOf(r) === nameOf(one));
  return <main><h1>Network weather</h1>{w.error && <Wrong text={w.error} />}
    {w.value && series.length === 0 ? <Empty><p>Nothing was measured yet.</p>
      <p>Links between clusters are measured when a job asks for a <code>pattern:</code>, or with <code>weather:</code> in the settings.</p></Empty> : one && <>
      <label>Series <select value={nameOf(one)} onChange={(e) => pick(e.currentTarget.value)}>{series.map((s) => <option>{nameOf(s)}</option>)}</select></label>
      {points.length > 0 && <Chart title={nameOf(one)} times={points.map((r) => r.at / 1e9)} format={(v) => measured(one.what, v)}
        lines={[{ label: "measured", values: points.map((r) => r.value), colour: "c-main" },
          { label: "forecast", values: points.map(() => one.forecast), colour: "c-deadline", dashed: true }]} />}
      <Table caption="Series" head={["What", "From", "To", "Last", "Forecast", "Error", "Measured", "Age"]} numbers={[3, 4, 5, 6, 7]}
        rows={series.map((s) => [s.what, s.from, s.to, measured(s.what, s.last), measured(s.what, s.forecast), measured(s.what, s.error), s.values, span(s.age_s)])} /></>}
    <Command text="godwit weather" /></main>;
}
