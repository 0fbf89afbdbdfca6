// The chart of charge: bars by tens, over which a range is drawn with the mouse.

import uPlot from 'uplot';
import { element, showNumber } from './dom.js';
import type { Filter } from './filter.js';
import { chargeLevel, type Theme } from './looks.js';

export interface ChargeChart {
  readonly element: HTMLElement;
  /** `words`: `0-9` to `90-100`, then what has no charge; counts of the whole fleet and of what passes the filter. */
  draw(words: readonly string[], all: readonly number[], shown: readonly number[], filter: Filter): void;
  paint(theme: Theme): void;
}

const HEIGHT_PIXELS = 104;
const COLOURS = {
  dark: { faint: '#2a3543', text: '#93a1b0', empty: '#ff6b61', low: '#e3b341', good: '#3fb950' },
  light: { faint: '#dde3e9', text: '#5b6673', empty: '#d1242f', low: '#c98a00', good: '#1a8f3c' },
} as const;

export function chargeChart(
  startTheme: Theme,
  onRange: (from: number | undefined, to: number | undefined) => void,
): ChargeChart {
  let theme = startTheme;
  let data: [number[], number[], number[]] = [[], [], []];
  let range: readonly [number, number] | undefined;
  let plot: uPlot | undefined;
  const frame = element('div', { class: 'chart', role: 'img' });

  const build = () => {
    plot?.destroy();
    frame.replaceChildren();
    if (frame.clientWidth === 0) return;
    plot = new uPlot(
      optionsOf(theme, frame.clientWidth, () => range, onRange),
      data,
      frame,
    );
  };
  new ResizeObserver(() => {
    if (plot === undefined || plot.width !== frame.clientWidth) build();
  }).observe(frame);

  return {
    element: frame,
    draw(words, all, shown, { leastPercent, mostPercent }) {
      const tens = words.flatMap((word, index) => (/^\d/.test(word) ? [index] : []));
      data = [
        tens.map((index) => Number.parseInt(words[index] ?? '0', 10) + 5),
        tens.map((index) => all[index] ?? 0),
        tens.map((index) => shown[index] ?? 0),
      ];
      range =
        leastPercent === undefined && mostPercent === undefined ? undefined : [leastPercent ?? 0, mostPercent ?? 100];
      frame.setAttribute('data-counts', data[1].join(' '));
      frame.setAttribute(
        'aria-label',
        `Charge: ${tens.map((index) => `${words[index]} %: ${showNumber(all[index] ?? 0)}`).join(', ')}`,
      );
      plot?.setData(data);
    },
    paint(wanted) {
      theme = wanted;
      build();
    },
  };
}

function optionsOf(
  theme: Theme,
  width: number,
  range: () => readonly [number, number] | undefined,
  onRange: (from: number | undefined, to: number | undefined) => void,
): uPlot.Options {
  const colours = COLOURS[theme];
  const bars = (uPlot.paths.bars ?? (() => undefined))({ size: [0.84, 60], radius: 0.12 });
  const colourOf = (middle: number) => colours[chargeLevel(middle - 5)];
  const coloured = uPlot.paths.bars?.({
    size: [0.84, 60],
    radius: 0.12,
    disp: {
      fill: { unit: 3, values: (plot) => [...(plot.data[0] ?? [])].map(colourOf) },
    },
  });
  const series = (paths: uPlot.Series.PathBuilder | undefined, fill: string): uPlot.Series => ({
    ...(paths === undefined ? {} : { paths }),
    fill,
    width: 0,
    points: { show: false },
  });
  return {
    width,
    height: HEIGHT_PIXELS,
    padding: [6, 4, 0, 4],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false, range: [0, 100] }, y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
    axes: [
      {
        stroke: colours.text,
        grid: { show: false },
        ticks: { show: false },
        size: 20,
        gap: 4,
        font: '11px system-ui, sans-serif',
        splits: () => [0, 20, 50, 80, 100],
        values: (_plot, splits) => splits.map((split) => (split === 100 ? '100 %' : String(split))),
      },
      { show: false },
    ],
    series: [{}, series(bars, colours.faint), series(coloured, colours.good)],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width: wide } = plot.select;
          if (wide < 3) return onRange(undefined, undefined);
          const from = Math.max(0, Math.round(plot.posToVal(left, 'x')));
          onRange(from, Math.min(100, Math.round(plot.posToVal(left + wide, 'x'))));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      draw: [
        (plot) => {
          const wanted = range();
          if (wanted === undefined) return;
          const { ctx, bbox } = plot;
          const [from, to] = wanted.map((percent) => plot.valToPos(percent, 'x', true)) as [number, number];
          ctx.save();
          ctx.fillStyle = theme === 'dark' ? 'rgba(88,166,255,.16)' : 'rgba(31,111,235,.12)';
          ctx.fillRect(from, bbox.top, to - from, bbox.height);
          ctx.restore();
        },
      ],
    },
  };
}
