// What the broker answers, and how it is asked. Addresses are relative: the pages work behind any proxy.
import { signal } from "@preact/signals";

export type State = string;
export interface Job {
  id: number; uid: string; user: string; name: string; state: State; cluster: string; hosts: string[]; why: string;
  command: string[]; procs: number; index: number | null; array?: number; attempts: number; pending?: number;
  submitted: string | null; started: string | null; ended: string | null; exit_code: number | null;
  deadline: string | null; deadline_met: boolean | null; p_deadline: number | null; confidence: number;
  predicted_end: string | null; predicted_end_p05: string | null; predicted_end_p95: string | null;
  migrations: number; checkpoints: number; method: string; cpu_s: number; wall_s: number;
  progress: number | null; share: number | null; memory: number; peak_memory: number; failure: string; warnings?: string[];
  held?: boolean; suspended?: string | null; labels?: Record<string, string>;
}
export interface Page { jobs: Job[]; next: string; counts: Record<State, number>; event: number }
export interface Change { event: number; at: string | null; job: number; kind: string; from?: State; to?: State }
export interface Changes { changes: Change[]; jobs?: Job[]; counts?: Record<State, number>; reset?: boolean }
export interface Segment { kind: string; cluster?: string; attempt?: number; from: string; to: string | null; outcome?: string }
export interface Outlook { at: string; p05: string | null; p50: string | null; p95: string | null; p_deadline: number | null }
export interface Timeline {
  segments: Segment[]; marks: { kind: string; at: string; text: string }[]; outlooks: Outlook[]; deadline: string | null; now: string;
}
export interface Decision { time: string; since_s: number; kind: string; choice: string; why: string; inputs: Record<string, unknown> }
export interface Quote {
  cluster: string; wait_s: number | null; transfer_s: number | null; run_s: number | null; finish_p50: string | null;
  finish_p90: string | null; p_deadline: number | null; reason: string; fits: boolean;
}
export interface Cluster {
  name: string; state: string; driver: string; hosts: number; procs: number; idle: number; others?: number; speed: number;
  share: number; running: number; waiting: number; methods: string[]; reliability: number | null; why: string; notes?: string[];
}
export interface Host {
  name: string; cluster: string; state: string; why: string; cores: number | null; free: number | null; speed: number | null;
  share: number | null; memory: number | null;
}
export interface Series { what: string; from: string; to: string; values: number; age_s: number; last: number; forecast: number; error: number }
export interface Reading { what: string; from: string; to: string; at: number; value: number }
export interface Flow {
  id: number; name: string; user: string; state: string; why: string; submitted: string | null; ended: string | null; tasks: number;
  done: number; running: number; failed: number; predicted_end: string | null;
  kinds?: { name: string; parent: number; tasks: number; done: number; running: number; failed: number }[];
}
export interface FlowTask {
  task: string; kind: number; job: number; cluster: string; done: boolean; failed: boolean; started: string | null; ended: string | null;
  why: string;
}
export interface Ping { version: string; pid: number; embedded: boolean; state: string; jobs: number; stale?: boolean }

export class Refusal extends Error {
  constructor(readonly status: number, text: string) { super(text); }
}

/** Whether the broker, or the dashboard before it, cannot be reached; and whether this browser has no session. */
export const isLost = signal(false);
export const isShut = signal(false);

export async function ask<T>(path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
  } catch {
    isLost.value = true;
    throw new Refusal(0, "The dashboard does not answer.");
  }
  if (answer.status === 401) isShut.value = true;
  if (answer.status === 502) isLost.value = true;
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Refusal(answer.status, told.error ?? answer.statusText);
  }
  isLost.value = false;
  return answer.status === 204 ? (undefined as T) : answer.json();
}

/** Exchanges the token of the address for a session. */
export async function openSession() {
  const token = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#/jobs");
  await ask("session", { token });
}
