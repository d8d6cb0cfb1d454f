// Parts that all pages share.
import { signal } from "@preact/signals";
import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Refusal } from "./api";
import { groupOf, stateText } from "./words";

export const address = signal(location.hash);
addEventListener("hashchange", () => { address.value = location.hash; });

export function route(): { path: string[]; query: URLSearchParams } {
  const [path, query] = address.value.replace(/^#\/?/, "").split("?");
  return { path: (path || "jobs").split("/").map(decodeURIComponent), query: new URLSearchParams(query ?? "") };
}

export function setQuery(change: Record<string, string>) {
  const { path, query } = route();
  for (const [k, v] of Object.entries(change)) v ? query.set(k, v) : query.delete(k);
  const text = query.toString();
  history.replaceState(null, "", `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`);
  address.value = location.hash;
}

/** What a request answers, asked again when something it depends on changes. */
export function useAnswer<T>(path: string, deps: unknown[] = []): { value?: T; error?: string; again: () => void } {
  const [value, set] = useState<{ value?: T; error?: string }>({});
  const [turn, next] = useState(0);
  useEffect(() => {
    let wanted = true;
    ask<T>(path).then((v) => wanted && set({ value: v }),
      (e: Refusal) => wanted && set((old) => (e.status === 0 || e.status === 502 ? old : { error: e.message })));
    return () => { wanted = false; };
  }, [path, turn, ...deps]);
  return { ...value, again: () => next((n) => n + 1) };
}

/** Calls f every so many seconds while the page is seen. */
export function useEvery(seconds: number, f: () => void) {
  useEffect(() => {
    const t = setInterval(() => { if (!document.hidden) f(); }, 1000 * seconds);
    return () => clearInterval(t);
  });
}

export const State = ({ state }: { state: string }) => <span class={`state ${groupOf(state)}`}>{stateText(state)}</span>;

export function Command({ text }: { text: string }) {
  const [copied, set] = useState(false);
  return <p class="command"><span class="quiet">In a terminal:</span> <code>{text}</code>{" "}
    <button class="small" onClick={() => { void navigator.clipboard?.writeText(text); set(true); }}>{copied ? "Copied" : "Copy"}</button></p>;
}

export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>;
export const Wrong = ({ text }: { text: string }) => <p class="wrong" role="alert">{text}</p>;

export function Table({ caption, head, rows, numbers }: {
  caption: string; head: string[]; rows: ComponentChildren[][]; numbers?: number[];
}) {
  const kind = (i: number) => (numbers?.includes(i) ? "number" : "");
  return <div class="scroll" tabIndex={0} role="region" aria-label={caption}><table>
    <thead><tr>{head.map((h, i) => <th scope="col" class={kind(i)}>{h}</th>)}</tr></thead>
    <tbody>{rows.map((r) => <tr>{r.map((c, i) => <td class={kind(i)}>{c}</td>)}</tr>)}</tbody></table></div>;
}

export interface Question { title: string; text: string; command: string; act: () => Promise<void> }
export const question = signal<Question | null>(null);

/** Asks before something is done, and says what will happen. */
export function Dialog() {
  const ref = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const q = question.value;
  useEffect(() => { setError(""); setBusy(false); q ? ref.current?.showModal() : ref.current?.close(); }, [q]);
  const act = async () => {
    setBusy(true);
    try { await q!.act(); question.value = null; } catch (e) { setError((e as Error).message); }
    setBusy(false);
  };
  return <dialog ref={ref} aria-labelledby="question" onClose={() => { question.value = null; }}>{q && <>
    <h2 id="question">{q.title}</h2><p>{q.text}</p><Command text={q.command} />{error && <Wrong text={error} />}
    <div class="buttons"><button onClick={() => { question.value = null; }}>No, leave it</button>
      <button class="main" disabled={busy} onClick={act}>{busy ? "…" : "Yes"}</button></div></>}</dialog>;
}
