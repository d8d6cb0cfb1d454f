// Workflows: reality as a Gantt chart, and the graph of their kinds of tasks.
import { Flow, FlowTask } from "./api";
import { Command, Empty, route, Table, useAnswer, useEvery, Wrong } from "./ui";
import { at, moment, now, span } from "./words";

const colours: Record<string, string> = { running: "running", completed: "done", failed: "failed", cancelled: "cancelled" };
const Mark = ({ state }: { state: string }) => <span class={`state ${colours[state] ?? "waiting"}`}>{state}</span>;

export function Flows() {
  const { path } = route();
  return path[1] ? <One id={path[1]} /> : <All />;
}

function All() {
  const f = useAnswer<Flow[]>("v1/flows?all=1");
  useEvery(4, f.again);
  return <main><h1>Workflows</h1>{f.error && <Wrong text={f.error} />}
    {f.value?.length === 0 ? <Empty><p>No workflow was submitted yet.</p><p>Try <code>godwit flow submit examples/workflows/montage.yaml</code>.</p></Empty> :
      <Table caption="Workflows" head={["Number", "Name", "State", "Done", "Running", "Failed", "Submitted", "Ended"]} numbers={[3, 4, 5]}
        rows={(f.value ?? []).map((x) => [<a href={`#/flows/${x.id}`}>{x.id}</a>, x.name, <Mark state={x.state} />, `${x.done} of ${x.tasks}`, x.running,
          x.failed, moment(x.submitted), moment(x.ended ?? x.predicted_end)])} />}
    <Command text="godwit flow ps" /></main>;
}

const maxBars = 400;

function One({ id }: { id: string }) {
  const f = useAnswer<Flow>(`v1/flows/${id}`), t = useAnswer<FlowTask[]>(`v1/flows/${id}/tasks`);
  const flow = f.value;
  useEvery(flow?.ended ? 3600 : 3, () => { f.again(); t.again(); });
  if (!flow) return <main><h1>Workflow {id}</h1>{f.error && <Wrong text={f.error} />}</main>;
  const tasks = (t.value ?? []).filter((x) => x.started).sort((a, b) => at(a.started) - at(b.started)).slice(0, maxBars);
  const begin = at(flow.submitted), until = Math.max(begin + 1000, flow.ended ? at(flow.ended) : now.value);
  const x = (ms: number) => `${(100 * (ms - begin)) / (until - begin)}%`;
  return <main><h1>Workflow {flow.id} <span class="name">{flow.name}</span> <Mark state={flow.state} /></h1>
    <p>{flow.done} of {flow.tasks} tasks are done, {flow.running} run, {flow.failed} failed. {flow.why}</p>
    <h2>Kinds of tasks</h2>{flow.kinds && <Graph kinds={flow.kinds} />}
    <h2>When tasks ran</h2>
    {tasks.length === 0 ? <Empty><p>No task has started yet.</p></Empty> : <div class="timeline gantt" role="img"
      aria-label={`${tasks.length} tasks, from ${moment(begin)} to ${moment(until)}`}>
      {tasks.map((k) => <div class="lane"><span class="of">{k.task}</span><div class="bar">
        <i class={k.failed ? "failed" : k.ended ? "done" : "running"} title={`${k.task} on ${k.cluster}, ${span(((k.ended ? at(k.ended) : until) - at(k.started)) / 1000)}`}
          style={{ left: x(at(k.started)), width: x(begin + (k.ended ? at(k.ended) : until) - at(k.started)) }} /></div></div>)}</div>}
    <Table caption="Tasks" head={["Task", "Job", "Cluster", "Started", "Ended", "Why"]}
      rows={(t.value ?? []).slice(0, maxBars).map((k) => [k.task, k.job ? <a href={`#/job/${k.job}`}>{k.job}</a> : "", k.cluster, moment(k.started), moment(k.ended), k.why])} />
    {(t.value?.length ?? 0) > maxBars && <p class="quiet">The first {maxBars} of {t.value!.length} tasks.</p>}
    <Command text={`godwit flow show ${flow.id}`} /></main>;
}

/** Kinds in columns by how many stand before them. */
function Graph({ kinds }: { kinds: NonNullable<Flow["kinds"]> }) {
  const depth: number[] = [];
  kinds.forEach((k, i) => { depth[i] = k.parent >= 0 && k.parent < i ? depth[k.parent] + 1 : 0; });
  const columns = Math.max(0, ...depth) + 1;
  return <div class="graph">{Array.from({ length: columns }, (_, c) => <ul aria-label={`step ${c + 1}`}>{kinds.map((k, i) => depth[i] === c &&
    <li class={k.failed ? "failed" : k.done === k.tasks ? "done" : k.running ? "running" : "waiting"}><b>{k.name}</b>
      <span>{k.done} of {k.tasks}</span></li>)}</ul>)}</div>;
}
