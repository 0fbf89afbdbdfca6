// The tables of a report as text, for documents. There are tables of numbers, of parts, and of idle
// bicycles.

import { showLocalTime, type TimeZone } from '../../system/time-zone.js';
import { labelOf, showFigure } from '../../views/fleet-report.js';
import type { PartFigure } from './figures.js';
import type { FleetReport } from './make-report.js';

export interface TextTable {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function figuresTable({ figures }: FleetReport): TextTable {
  return {
    title: 'Figures',
    header: ['Figure', 'Value', 'Before', 'Coverage'],
    rows: figures
      .filter(({ part }) => part === null)
      .map((figure) => [labelOf(figure.name), ...valuesOf(figure), `${figure.coverage} %`]),
  };
}

/**
 * Returns the main numbers, with one row for each part. Returns undefined for a report without
 * parts.
 */
export function partsTable({ figures, by }: FleetReport): TextTable | undefined {
  if (by === null) return undefined;
  const names = [
    'fleet_size_mean',
    'available_share',
    'in_maintenance_share',
    'lost_share',
    'rentals',
    'rentals_per_bicycle_day',
    'rental_length_median',
    'alerts_opened',
  ];
  const rows = figuresByPart(figures).map(({ part, figures: own }) => {
    const cells = names.map((name) => {
      const figure = own.find((each) => each.name === name);
      return figure === undefined ? '' : showFigure(figure.value, figure.unit, figure.certain);
    });
    return [part, ...cells, `${own[0]?.coverage ?? 0} %`];
  });
  const title = `By ${by}`;
  return { title, header: [title, ...names.map(labelOf), 'Coverage'], rows };
}

export function idleTable({ idle }: FleetReport, zone: TimeZone): TextTable {
  return {
    title: 'Idle longest',
    header: ['Bicycle', 'Idle', 'Available since'],
    rows: idle.map(({ name, uuid, since, seconds, certain }) => [
      name ?? uuid,
      showFigure(seconds, 's', certain),
      showLocalTime(Date.parse(since), zone),
    ]),
  };
}

function valuesOf(figure: PartFigure): string[] {
  const { value, before, unit, certain, before_certain: isSure } = figure;
  return [showFigure(value, unit, certain), showFigure(before, unit, isSure)];
}

/** Returns the numbers for each part, in the report's order. */
export function figuresByPart(
  figures: readonly PartFigure[],
): { part: string; figures: PartFigure[] }[] {
  const parts = new Map<string, PartFigure[]>();
  for (const figure of figures) {
    if (figure.part === null) continue;
    const known = parts.get(figure.part);
    if (known === undefined) parts.set(figure.part, [figure]);
    else known.push(figure);
  }
  return [...parts].map(([part, own]) => ({ part, figures: own }));
}

/** Whether the mirror lacks certain data for the entire period. */
export function isEmptyPeriod({ period }: FleetReport): boolean {
  return period.from === period.until;
}

/**
 * Describes the period, the coverage and the meaning of the marks. Returns one sentence for each
 * line.
 */
export function describeReport(report: FleetReport, zone: TimeZone): string[] {
  const { period, coverage, by, figures } = report;
  const show = (iso: string) => showLocalTime(Date.parse(iso), zone);
  const isMarked = figures.some(({ certain, before_certain: isSure }) => !certain || !isSure);
  const lines = [
    `${show(period.from)} to ${show(period.until)} (${period.timezone}).`,
    `Before: ${show(period.before.from)} to ${show(period.before.until)}.`,
    `The mirror saw ${coverage} % of the period.`,
  ];
  if (period.ends_early)
    lines.push(
      isEmptyPeriod(report)
        ? 'The mirror is not current: its complete data ends before the period.'
        : 'The mirror is not current: the report ends where its complete data ends.',
    );
  if (isMarked) lines.push('~ marks uncertain figures; - means that a figure cannot be known.');
  if (by === 'zone') lines.push('Zones are those of the present positions of the bicycles.');
  return lines;
}
