// How things are said: times, sizes, chances, states.
import { signal } from "@preact/signals";

export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 1000);

export const at = (t: string | null | undefined) => (t ? Date.parse(t) : NaN);

export function span(seconds: number | null | undefined): string {
  if (seconds == null || Number.isNaN(seconds)) return "–";
  const s = Math.abs(seconds), sign = seconds < 0 ? "−" : "";
  if (s < 1) return `${sign}${Math.round(1000 * s)} ms`;
  if (s < 10) return `${sign}${s.toFixed(1)} s`;
  if (s < 100) return `${sign}${Math.round(s)} s`;
  if (s < 6000) return `${sign}${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
  if (s < 172800) return `${sign}${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} min`;
  return `${sign}${(s / 86400).toFixed(1)} days`;
}

export function moment(t: string | number | null | undefined): string {
  if (t == null) return "–";
  const d = new Date(t);
  return new Date().toDateString() === d.toDateString() ? d.toLocaleTimeString([], { hour12: false }) : d.toLocaleString([], { hour12: false });
}

export const percent = (p: number | null | undefined) => (p == null ? "–" : `${Math.round(100 * p)} %`);

export function bytes(n: number | null | undefined): string {
  if (n == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n < 10 && i ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/** Groups of states, by which lists are filtered. */
export const groups: [name: string, title: string, states: string[]][] = [
  ["running", "Running", ["RUNNING", "STOPPING"]],
  ["waiting", "Waiting", ["SUBMITTED", "SELECTED", "CONTRACTED", "STAGING", "QUEUED", "STOPPED", "RESUMING"]],
  ["done", "Completed", ["DONE"]], ["failed", "Failed", ["FAILED"]], ["cancelled", "Cancelled", ["CANCELLED"]],
];
export const groupOf = (state: string) => groups.find((g) => g[2].includes(state))?.[0] ?? "waiting";
export const isOver = (state: string) => ["DONE", "FAILED", "CANCELLED"].includes(state);
export const stateText = (state: string) => (state === "DONE" ? "completed" : state.toLowerCase());
