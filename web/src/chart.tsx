// Charts over time: lines and bands, with their values as a table for who cannot see them.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { moment } from "./words";

export interface Line { label: string; values: (number | null)[]; colour: string; dashed?: boolean; width?: number }

const colourOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function Chart({ title, times, lines, bands, format, marks }: {
  title: string; times: number[]; lines: Line[]; bands?: [number, number][]; format: (v: number) => string; marks?: number[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const height = 240;
  useEffect(() => {
    const el = box.current!;
    const axis = { stroke: colourOf("quiet"), grid: { stroke: colourOf("line"), width: 1 }, ticks: { stroke: colourOf("line") } };
    const drawMarks = (u: uPlot) => {
      u.ctx.save();
      u.ctx.strokeStyle = colourOf("mark");
      u.ctx.setLineDash([4, 4]);
      for (const m of marks ?? []) {
        const x = u.valToPos(m, "x", true);
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
      }
      u.ctx.restore();
    };
    const u = new uPlot({
      width: el.clientWidth || 600, height, legend: { show: false },
      scales: { x: { range: (_, from, to) => [from, Math.max(to, from + 60)] } },
      axes: [{ ...axis, space: 90, values: (_, v) => v.map((x) => moment(1000 * x)) }, { ...axis, size: 78, values: (_, v) => v.map((x) => (x == null ? "" : format(x))) }],
      series: [{}, ...lines.map((l) => ({ label: l.label, stroke: colourOf(l.colour), width: l.width ?? 2,
        dash: l.dashed ? [6, 5] : undefined, points: { show: times.length < 3 }, spanGaps: true }))],
      bands: bands?.map((b) => ({ series: b, fill: colourOf("band") })), hooks: { draw: [drawMarks] },
    }, [times, ...lines.map((l) => l.values)] as uPlot.AlignedData, el);
    const size = new ResizeObserver(() => u.setSize({ width: el.clientWidth, height }));
    size.observe(el);
    return () => { size.disconnect(); u.destroy(); };
  }, [JSON.stringify([times, lines, marks])]);
  return <figure class="chart"><figcaption>{title}
    <span class="legend">{lines.map((l) => <span><i class={`key ${l.colour} ${l.dashed ? "dashed" : ""}`} />{l.label}</span>)}</span></figcaption>
    <div ref={box} role="img" aria-label={`${title}, ${times.length} points; the values follow`} />
    <details><summary>Values</summary><div class="scroll low" tabIndex={0} role="region" aria-label={`${title}: values`}>
      <table class="values"><thead><tr><th scope="col">time</th>{lines.map((l) => <th scope="col">{l.label}</th>)}</tr></thead>
        <tbody>{times.map((t, i) => <tr><td data-value={t}>{moment(1000 * t)}</td>
          {lines.map((l) => <td data-value={l.values[i] ?? ""}>{l.values[i] == null ? "–" : format(l.values[i]!)}</td>)}</tr>)}
        </tbody></table></div></details></figure>;
}
