// Writes the tours as GPX 1.1 for navigation apps (https://www.topografix.com/GPX/1/1/). Each van
// has one route.

import { mapLink } from '../../globe/map-link.js';
import { clean } from '../../terminal/clean.js';
import { escapeMarkup } from '../../terminal/markup.js';
import { textOf } from '../../terminal/values.js';
import type { Spot } from './distances.js';
import {
  describeVan,
  type LeftOutBicycle,
  nameOfStop,
  type Rounds,
  showArrival,
  type TourStop,
  type VanTour,
} from './plan.js';

/** The precision of positions. Seven decimals correspond to about a centimetre. */
const DECIMALS = 7;

/** Returns the GPX document. The GPX schema requires this order of the elements. */
export function drawGpx(rounds: Rounds): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gpx version="1.1" creator="fleet" xmlns="http://www.topografix.com/GPX/1/1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">',
    '  <metadata><name>Rounds</name></metadata>',
    ...rounds.leftOut.flatMap((each) => leftOutPoint(each)),
    ...rounds.vans.flatMap((van) => routeOf(rounds, van)),
    '</gpx>',
    '',
  ].join('\n');
}

function leftOutPoint({ bicycle, spot, reason }: LeftOutBicycle): string[] {
  if (spot === undefined) return [];
  const texts = { name: nameOfStop({ bicycle }), desc: `Left out: ${reason}`, type: 'left out' };
  return [`  ${point('wpt', spot, texts)}`];
}

function routeOf(rounds: Rounds, van: VanTour): string[] {
  return [
    '  <rte>',
    `    <name>Van ${van.van}</name>`,
    `    <desc>${escapeXml(describeVan(van))}</desc>`,
    `    <number>${van.van}</number>`,
    `    ${point('rtept', rounds.depot, { name: 'Start', desc: '', type: 'start' })}`,
    ...van.stops.map((stop, index) => `    ${stopPoint(rounds, stop, index + 1)}`),
    `    ${point('rtept', rounds.end, { name: 'End', desc: '', type: 'end' })}`,
    '  </rte>',
  ];
}

function stopPoint(rounds: Rounds, stop: TourStop, number: number): string {
  const { bicycle, spot, arrivalS } = stop;
  const facts = [
    showArrival(rounds, arrivalS),
    textOf(bicycle['serial_number']),
    textOf(bicycle.state),
  ].filter((fact) => fact !== undefined && fact !== '');
  return point('rtept', spot, {
    name: `${number} ${nameOfStop(stop)}`,
    desc: facts.join(', '),
    type: 'bicycle',
  });
}

function point(
  element: 'wpt' | 'rtept',
  spot: Spot,
  { name, desc, type }: { name: string; desc: string; type: string },
): string {
  const [longitude, latitude] = spot;
  const parts = [
    `<name>${escapeXml(name)}</name>`,
    desc === '' ? '' : `<desc>${escapeXml(desc)}</desc>`,
    `<link href="${escapeXml(mapLink(spot))}"/>`,
    `<type>${type}</type>`,
  ];
  return `<${element} lat="${decimal(latitude)}" lon="${decimal(longitude)}">${parts.join('')}</${element}>`;
}

/**
 * Formats degrees for the GPX schema, which accepts neither exponents nor 180. Numbers are written
 * without an exponent, and 180 becomes -180.
 */
function decimal(degrees: number): string {
  // Rounding can turn a longitude slightly below 180 into 180, so 180 is handled after rounding.
  const rounded = Number(degrees.toFixed(DECIMALS));
  const text = (rounded === 180 ? -180 : rounded).toFixed(DECIMALS);
  return text.replace(/\.?0+$/, '');
}

/**
 * Escapes text from the service. Control characters are not allowed in XML and are replaced by
 * visible symbols.
 */
function escapeXml(text: string): string {
  return escapeMarkup(clean(text));
}
