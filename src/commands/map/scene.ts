// From a fleet to what the drawings take: places, counts by state, names, the coastline.

import { readFileSync } from 'node:fs';
import type { Bicycle } from '../../api/bicycle.js';
import { distPath } from '../../place.js';
import { textOf } from '../../terminal/values.js';
import { type Coast, readCoast } from '../../views/map/coast.js';
import type { FleetPicture } from '../../views/map/picture.js';
import { findPlaces, type Places } from '../../views/map/places.js';
import type { StatsRow } from '../../views/stats.js';

export interface Scene {
  readonly places: Places;
  /** The states of `bicycles stats`. */
  readonly counts: readonly StatsRow[];
  readonly coast: Coast;
  nameOf(bicycle: number): string;
}

/** What is drawn of a picture. */
export function sceneOf(picture: FleetPicture): Scene {
  const counts = picture.counts.filter(({ group }) => group === 'state');
  return sceneFrom(
    picture.bicycles.map(({ value }) => value),
    counts,
  );
}

/** The same of bicycles that were counted by state. */
export function sceneFrom(bicycles: readonly Bicycle[], counts: readonly StatsRow[]): Scene {
  const states = counts.map(({ value }) => value);
  return {
    counts,
    places: findPlaces(bicycles, states),
    coast: loadCoast(),
    nameOf: (index) => nameOf(bicycles[index]),
  };
}

function nameOf(bicycle: Bicycle | undefined): string {
  const name = textOf(bicycle?.name);
  return name === undefined || name === '' ? (textOf(bicycle?.uuid) ?? '-').slice(0, 8) : name;
}

let coast: Coast | undefined;

/** The coastline that the build made; read once. */
function loadCoast(): Coast {
  coast ??= readCoast(JSON.parse(readFileSync(distPath('coastline.json'), 'utf8')) as number[][]);
  return coast;
}

/** `2026-11-21 14:03`: local time of the day it was read. */
export function showMoment({ takenAtMs, offsetMinutes }: Pick<FleetPicture, 'takenAtMs' | 'offsetMinutes'>): string {
  return new Date(takenAtMs + offsetMinutes * 60_000).toISOString().slice(0, 16).replace('T', ' ');
}
