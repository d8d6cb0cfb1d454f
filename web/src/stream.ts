// The one stream of changes of this page. After a break it goes on behind the last event that was seen.
import { signal } from "@preact/signals";
import { ask, Change, Changes, isLost, isShut, Job, Ping, State } from "./api";

export const counts = signal<Record<State, number>>({});
/** Jobs as they were last told, of those looked at. */
export const seen = signal<Record<number, Job>>({});
/** What happened since the page was opened, oldest first, the last thousand. */
export const happened = signal<Change[]>([]);
export const lastEvent = signal(0);
/** Grows when everything is to be read anew. */
export const resets = signal(0);

type Hear = (c: Changes) => void;
const hearers = new Set<Hear>();
export function hear(f: Hear) { hearers.add(f); return () => { hearers.delete(f); }; }

let source: EventSource | undefined;
let watched = "";

export function watch(ids: number[]) {
  const wanted = ids.map((id) => `&job=${id}`).join("");
  if (source && wanted === watched) return;
  watched = wanted;
  connect();
}

function connect() {
  source?.close();
  const mine = new EventSource(`v1/events?${lastEvent.value ? `since=${lastEvent.value}` : ""}${watched}`);
  source = mine;
  mine.onopen = () => { isLost.value = false; };
  mine.onmessage = (e) => take(Number(e.lastEventId), JSON.parse(e.data));
  mine.onerror = () => {
    if (source !== mine) return;
    mine.close();
    source = undefined;
    void look();
  };
}

/** Looks whether the broker is back. */
async function look() {
  try {
    await ask<Ping>("v1/ping");
    if (!source) connect();
  } catch {
    if (!isShut.value) setTimeout(look, 700);
  }
}

function take(event: number, m: Changes) {
  if (m.reset) {
    happened.value = [];
    resets.value++;
  }
  lastEvent.value = event;
  if (m.changes.length) happened.value = happened.value.concat(m.changes).slice(-1000);
  if (m.jobs?.length) {
    const next = { ...seen.value };
    for (const j of m.jobs) next[j.id] = j;
    seen.value = next;
  }
  if (m.counts) counts.value = m.counts;
  hearers.forEach((f) => f(m));
}
