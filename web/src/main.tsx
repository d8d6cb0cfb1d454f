// The frame of all pages.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isLost, isShut, openSession } from "./api";
import { Flows } from "./flows";
import { Clusters, Weather } from "./grid";
import { Job } from "./job";
import { Jobs } from "./jobs";
import { Health, History, NewJob } from "./others";
import { watch } from "./stream";
import { Dialog, route } from "./ui";

const pages: Record<string, [title: string, page: () => preact.JSX.Element]> = {
  jobs: ["Jobs", Jobs], new: ["New job", NewJob], flows: ["Workflows", Flows], clusters: ["Clusters", Clusters], weather: ["Weather", Weather],
  history: ["History", History], broker: ["Broker", Health],
};

function App() {
  const name = route().path[0];
  const Page = name === "job" ? Job : (pages[name] ?? pages.jobs)[1];
  const [theme, setTheme] = useState(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  useEffect(() => { document.title = name === "job" ? `Job ${route().path[1]} – Godwit` : `${(pages[name] ?? pages.jobs)[0]} – Godwit`; }, [name]);
  if (isShut.value) {
    return <main><h1>Not opened</h1><p>This browser has no session with the dashboard.</p>
      <p>Run <code>godwit dashboard</code> and open the address that it prints. Each address opens one browser.</p></main>;
  }
  return <>
    <header><a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.querySelector("main")?.querySelector<HTMLElement>("a,button,input,[tabindex]")?.focus(); }}>To the page</a>
      <a class="brand" href="#/jobs"><img src="icon.svg" alt="" width="22" height="22" /> Godwit</a>
      <nav aria-label="Pages">{Object.entries(pages).map(([k, [title]]) =>
        <a href={`#/${k}`} aria-current={k === name || (k === "jobs" && name === "job") ? "page" : undefined}>{title}</a>)}</nav>
      <button class="small" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>{theme === "dark" ? "Light" : "Dark"}</button></header>
    <div role="status" aria-live="polite">{isLost.value && <p class="banner">The broker does not answer. Jobs run on; this page goes on by itself when it is back.</p>}</div>
    <Page key={`${name}${theme}${name === "job" ? route().path[1] : ""}`} />
    <Dialog /></>;
}

addEventListener("keydown", (e) => {
  const inText = (e.target as HTMLElement).matches("input, textarea, select");
  if (e.key === "/" && !inText) {
    document.querySelector<HTMLElement>("input[type=search]")?.focus();
    e.preventDefault();
  }
});

openSession().catch(() => { isShut.value = true; }).finally(() => {
  render(<App />, document.getElementById("app")!);
  if (!isShut.value) watch([]);
});
