// The chart of charge: bars by tens, over which a range is drawn with the mouse.

import uPlot from 'uplot';
import { CHARGE_GROUPS } from '../groups.js';
import { element, showNumber } from './dom.js';
import type { Filter } from './filter.js';
import { chargeLevel, readColour } from './looks.js';

export interface ChargeChart {
  readonly element: HTMLElement;
  /** How many of the whole fleet and of what passes the filter have a charge of `0-9` to `90-100`. */
  draw(all: ReadonlyMap<string, number>, shown: ReadonlyMap<string, number>, filter: Filter): void;
  /** The colours are others. */
  paint(): void;
}

const HEIGHT_PIXELS = 104;

type OnRange = (from: number | undefined, to: number | undefined) => void;

export function chargeChart(onRange: OnRange): ChargeChart {
  let data: [number[], number[], number[]] = [[], [], []];
  let range: readonly [number, number] | undefined;
  let plot: uPlot | undefined;
  const frame = element('div', { class: 'chart', role: 'img' });

  const build = () => {
    plot?.destroy();
    frame.replaceChildren();
    if (frame.clientWidth === 0) return;
    plot = new uPlot({ width: frame.clientWidth, ...optionsOf(() => range, onRange) }, data, frame);
  };
  new ResizeObserver(() => {
    if (plot === undefined || plot.width !== frame.clientWidth) build();
  }).observe(frame);

  return {
    element: frame,
    draw(all, shown, { leastPercent, mostPercent }) {
      const countsOf = (counts: ReadonlyMap<string, number>) => CHARGE_GROUPS.map((group) => counts.get(group) ?? 0);
      data = [CHARGE_GROUPS.map((_group, ten) => ten * 10 + 5), countsOf(all), countsOf(shown)];
      range =
        leastPercent === undefined && mostPercent === undefined ? undefined : [leastPercent ?? 0, mostPercent ?? 100];
      frame.setAttribute('data-counts', data[1].join(' '));
      const texts = CHARGE_GROUPS.map((group, ten) => `${group} %: ${showNumber(data[1][ten] ?? 0)}`);
      frame.setAttribute('aria-label', `Charge: ${texts.join(', ')}`);
      plot?.setData(data);
    },
    paint: build,
  };
}

function optionsOf(range: () => readonly [number, number] | undefined, onRange: OnRange): Omit<uPlot.Options, 'width'> {
  const shape = { size: [0.84, 60] as [number, number], radius: 0.12 };
  const levels = { empty: readColour('empty'), low: readColour('low-bar'), good: readColour('good') };
  const colourOf = (middle: number) => levels[chargeLevel(middle - 5)];
  const fill = { unit: 3 as const, values: (plot: uPlot) => [...(plot.data[0] ?? [])].map(colourOf) };
  const series = (bars: uPlot.Series.BarsPathBuilderOpts, colour: string): uPlot.Series => ({
    paths: uPlot.paths.bars?.(bars) ?? (() => null),
    fill: colour,
    width: 0,
    points: { show: false },
  });
  return {
    height: HEIGHT_PIXELS,
    padding: [6, 4, 0, 4],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false, range: [0, 100] }, y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
    axes: [
      {
        stroke: readColour('soft'),
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
    series: [{}, series(shape, readColour('faint')), series({ ...shape, disp: { fill } }, levels.good)],
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
          ctx.fillStyle = readColour('range');
          ctx.fillRect(from, bbox.top, to - from, bbox.height);
          ctx.restore();
        },
      ],
    },
  };
}
