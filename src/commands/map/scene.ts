// What every drawing of a fleet takes: its places, the coastline, and when it was read.

import { readFileSync } from 'node:fs';
import { distPath } from '../../place.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import { type Coast, readCoast } from '../../views/map/coast.js';
import { type MapInput, sceneOf } from '../../views/map/scene.js';
import type { FleetPicture } from './read.js';

let coast: Coast | undefined;

/** The coastline that the build made; read once. */
export function loadCoast(): Coast {
  coast ??= readCoast(JSON.parse(readFileSync(distPath('coastline.json'), 'utf8')) as number[][]);
  return coast;
}

/** What is drawn of a picture. */
export function mapInputOf({ bicycles, title, takenAtMs }: FleetPicture): MapInput {
  const offsetMinutes = -new Date(takenAtMs).getTimezoneOffset();
  return {
    ...sceneOf(bicycles.map(({ value }) => value)),
    coast: loadCoast(),
    title: `${countNoun(bicycles.length, { one: 'bicycle', many: 'bicycles' })}, ${title}`,
    // `2026-11-21 14:03`: local time of the day it was read.
    moment: new Date(takenAtMs + offsetMinutes * 60_000).toISOString().slice(0, 16).replace('T', ' '),
  };
}
