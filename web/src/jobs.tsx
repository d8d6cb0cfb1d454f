// The list of jobs: read by page as it is scrolled, kept up to date by the stream.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Job, Page } from "./api";
import { counts, hear, lastEvent, resets } from "./stream";
import { Command, Empty, question, route, setQuery, State, Wrong } from "./ui";
import { at, groupOf, groups, isOver, moment, now, percent, span } from "./words";

const rowHeight = 37;
const pageSize = 200;
const fields = "id,name,state,cluster,procs,submitted,started,ended,deadline,deadline_met,p_deadline,predicted_end," +
  "why,user,pending,index,array,exit_code,held,suspended";
const columns = ["Job", "Name", "State", "Cluster", "Cores", "Submitted", "Ran", "Predicted end", "Deadline", "Chance"];
const filters = ["state", "text", "name", "program", "cluster", "label", "deadline", "users"];

const chosen = signal<Set<number>>(new Set());
export const labelOf = (j: Job) => (j.array && j.index != null ? `${j.array}_${j.index}` : `${j.id}`);

function listAddress(cursor: string, limit: number): string {
  const { query } = route();
  const q = new URLSearchParams({ fields, limit: `${limit}` });
  if (cursor) q.set("cursor", cursor);
  for (const f of filters) {
    const v = query.get(f);
    const group = groups.find((g) => g[0] === v);
    if (v) q.set(f, f === "state" && group ? group[2].join(",").toLowerCase() : v);
  }
  return `v1/jobs?${q}`;
}

export function Jobs() {
  const { query } = route();
  const key = filters.map((f) => query.get(f) ?? "").join("\n");
  const [rows, setRows] = useState<Job[] | null>(null);
  const [next, setNext] = useState("");
  const [error, setError] = useState("");
  const [top, setTop] = useState(0);
  const [focus, setFocus] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const busy = useRef("");
  const live = useRef({ rows: [] as Job[], key });
  live.current.key = key;
  const show = (list: Job[]) => { live.current.rows = list; setRows(list); };

  const load = async (cursor: string) => {
    if (busy.current === key + cursor) return;
    busy.current = key + cursor;
    try {
      for (let more = true; more;) { // a page may be empty and have a next one
        const p = await ask<Page>(listAddress(cursor, pageSize));
        if (live.current.key !== key) return;
        counts.value = p.counts;
        const old = cursor ? live.current.rows : [];
        const low = old.length ? old[old.length - 1].id : Infinity;
        show(old.concat(p.jobs.filter((j) => j.id < low)));
        setNext(p.next);
        cursor = p.next;
        more = p.jobs.length === 0 && cursor !== "";
      }
      setError("");
    } catch (e) { setError((e as Error).message); }
  };
  useEffect(() => { live.current.rows = []; setRows(null); setNext(""); busy.current = ""; void load(""); }, [key, resets.value]);

  // What is seen is read anew when something changed, once a second at most.
  useEffect(() => {
    let timer = 0;
    const refresh = async () => {
      timer = 0;
      const first = Math.max(0, Math.floor((box.current?.scrollTop ?? 0) / rowHeight) - 5);
      const before = first > 0 ? `${live.current.rows[first - 1]?.id ?? ""}` : "";
      try {
        const p = await ask<Page>(listAddress(before, 60));
        if (live.current.key !== key) return;
        counts.value = p.counts;
        const all = live.current.rows;
        const above = before ? all.filter((j) => j.id >= Number(before)) : [];
        show(above.concat(p.jobs, p.next ? all.filter((j) => j.id < Number(p.next)) : []));
      } catch { /* the banner tells */ }
    };
    const stop = hear((m) => { if ((m.changes.length || m.reset) && !timer) timer = window.setTimeout(refresh, 1000); });
    return () => { stop(); clearTimeout(timer); };
  }, [key]);

  const list = rows ?? [];
  const height = box.current?.clientHeight || 800;
  const first = Math.max(0, Math.floor(top / rowHeight) - 8);
  const last = Math.min(list.length, first + Math.ceil(height / rowHeight) + 16);
  useEffect(() => { if (next && last > list.length - 60) void load(next); }, [last, next, list.length]);

  const onKey = (e: KeyboardEvent) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    if (step) {
      const to = Math.max(0, Math.min(list.length - 1, focus + step));
      setFocus(to);
      const b = box.current!, y = to * rowHeight;
      if (y < b.scrollTop) b.scrollTop = y;
      if (y + 2 * rowHeight > b.scrollTop + b.clientHeight) b.scrollTop = y + 2 * rowHeight - b.clientHeight;
      e.preventDefault();
    } else if (e.key === "Enter" && e.target === box.current && list[focus]) location.hash = `#/job/${list[focus].id}`;
    else if (e.key === "x" && list[focus]) toggle(list[focus].id);
  };

  const picked = query.get("state") ?? "";
  const total = Object.values(counts.value).reduce((a, b) => a + b, 0);
  return <main class="wide"><h1>Jobs</h1>
    <div class="filters" role="group" aria-label="Filters">
      <button aria-pressed={!picked} onClick={() => setQuery({ state: "" })}>All <b>{total}</b></button>
      {groups.map(([name, title, states]) => <button class={name} aria-pressed={picked === name}
        onClick={() => setQuery({ state: picked === name ? "" : name })}>{title}{" "}
        <b>{states.reduce((n, s) => n + (counts.value[s] ?? 0), 0)}</b></button>)}
      <input id="search" type="search" aria-label="Search in names and programs" placeholder="Search ( / )"
        value={query.get("text") ?? ""} onChange={(e) => setQuery({ text: e.currentTarget.value })} />
      <select aria-label="Deadline" value={query.get("deadline") ?? ""} onChange={(e) => setQuery({ deadline: e.currentTarget.value })}>
        <option value="">Any deadline</option><option value="with">With a deadline</option><option value="without">Without</option>
        <option value="met">Met</option><option value="missed">Missed</option></select>
      {query.get("label") && <button onClick={() => setQuery({ label: "" })}>label {query.get("label")} ✕</button>}
      {query.get("cluster") && <button onClick={() => setQuery({ cluster: "" })}>on {query.get("cluster")} ✕</button>}
    </div>
    {error && <Wrong text={error} />}
    {chosen.value.size > 0 && <Actions rows={list} />}
    {rows && list.length === 0 && !next && !error ? <Empty><p>{key.trim() ? "No job matches these filters." : "There are no jobs yet."}</p>
      <p>Submit one: <code>godwit run --deadline 5m -- ./program</code>, or use <a href="#/new">New job</a>.</p></Empty> :
      <div class="list" ref={box} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={onKey}
        role="grid" aria-label="Jobs, newest first" aria-rowcount={next ? -1 : list.length + 1} aria-multiselectable="true">
        <div class="row head" role="row" aria-rowindex={1}><span role="columnheader"><span class="hidden">Selected</span></span>
          {columns.map((c) => <span role="columnheader" class={c === "Cores" || c === "Ran" ? "number" : ""}>{c}</span>)}</div>
        <div role="presentation" style={{ height: `${first * rowHeight}px` }} />
        {list.slice(first, last).map((j, i) => <Row key={j.id} j={j} n={first + i} focused={first + i === focus} />)}
        <div role="presentation" style={{ height: `${(list.length - last) * rowHeight}px` }} />
      </div>}
    <p class="quiet">{list.length} read{next ? ", more below" : ""} · event {lastEvent.value} · j k move, Enter opens, x selects, / searches</p>
    <Command text={`godwit ps --all${picked ? ` --state ${picked}` : ""}${query.get("users") ? " --all-users" : ""}`} /></main>;
}

function toggle(id: number) {
  const s = new Set(chosen.value);
  s.has(id) ? s.delete(id) : s.add(id);
  chosen.value = s;
}

function Row({ j, n, focused }: { j: Job; n: number; focused: boolean }) {
  const begun = at(j.started);
  const ran = begun ? ((j.ended ? at(j.ended) : now.value) - begun) / 1000 : NaN;
  const chance = j.deadline_met != null ? (j.deadline_met ? "met" : "missed") : percent(j.p_deadline);
  const danger = j.deadline_met === false || (j.deadline_met == null && j.p_deadline != null && j.p_deadline < 0.9);
  return <div class={`row ${focused ? "focused" : ""}`} role="row" aria-rowindex={n + 2} data-job={j.id} data-state={j.state}
    aria-selected={chosen.value.has(j.id)}>
    <span role="gridcell"><input type="checkbox" aria-label={`Select job ${labelOf(j)}`} checked={chosen.value.has(j.id)}
      onChange={() => toggle(j.id)} /></span>
    <span role="gridcell"><a href={`#/job/${j.id}`}>{labelOf(j)}</a>{j.pending ? <small> +{j.pending - 1}</small> : ""}</span>
    <span role="gridcell" title={j.name}>{j.name}</span>
    <span role="gridcell" title={j.why}><State state={j.state} />{j.held && <small> held</small>}{j.suspended && <small> suspended</small>}{groupOf(j.state) === "waiting" && <small> {j.why}</small>}</span>
    <span role="gridcell">{j.cluster}</span><span role="gridcell" class="number">{j.procs}</span>
    <span role="gridcell">{moment(j.submitted)}</span><span role="gridcell" class="number">{span(ran)}</span>
    <span role="gridcell">{isOver(j.state) ? moment(j.ended) : moment(j.predicted_end)}</span>
    <span role="gridcell">{moment(j.deadline)}</span><span role="gridcell" class={danger ? "danger" : ""}>{chance}</span></div>;
}

/** What can be done with jobs, each with what will happen. */
type Verb = [path: string, title: string, text: string, fits: (j: Job) => boolean];
const isRunning = (j: Job) => j.state === "RUNNING";
export const verbs: Verb[] = [
  ["cancel", "Cancel", "The program is told to end, and ended after its time of grace. What it wrote so far is kept.", (j) => !isOver(j.state)],
  ["checkpoint", "Checkpoint", "The program is frozen for a moment while its state is saved, and runs on.", isRunning],
  ["migrate", "Migrate", "The program is saved, stopped, and continued on the cluster where it is expected to end soonest.", isRunning],
  ["hold", "Hold", "The job is not started until it is released.", (j) => groupOf(j.state) === "waiting" && !j.held],
  ["release", "Release", "The job may start as soon as there is room for it.", (j) => Boolean(j.held)],
  ["suspend", "Suspend", "The program stands still and keeps its cores and memory until it is resumed.", (j) => isRunning(j) && !j.suspended],
  ["resume", "Resume", "The program runs on.", (j) => Boolean(j.suspended)],
  ["requeue", "Requeue", "The program is saved if it can be, stopped, and started again later.", isRunning],
];

export function askFor(jobs: Job[], [path, title, text, fits]: Verb) {
  const open = jobs.filter(fits);
  const ids = open.map((j) => j.id).join(" ");
  question.value = { title: `${title} ${open.length === 1 ? `job ${ids}` : `${open.length} jobs`}?`, text, command: `godwit ${path} ${ids}`,
    act: async () => {
      for (const j of open) await ask(`v1/jobs/${j.id}/${path}`, {});
      chosen.value = new Set();
    } };
}

function Actions({ rows }: { rows: Job[] }) {
  const all = rows.filter((j) => chosen.value.has(j.id));
  return <div class="actions" role="toolbar" aria-label="Actions"><b>{all.length} selected</b>
    {verbs.map((v) => <button disabled={!all.some(v[3])} onClick={() => askFor(all, v)}>{v[1]}…</button>)}
    <button onClick={() => { chosen.value = new Set(); }}>Clear selection</button></div>;
}
