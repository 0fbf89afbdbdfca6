// Serves a recorded fleet instead of a generated one: its organizations and bicycles, with links
// changed to the sandbox.
import type { Bicycle } from '../api/bicycle.js';
import {
  addBicycle,
  type BicycleRow,
  changeBicycle,
  hasOrganization,
  makeRow,
  nextIndex,
  nextMoment,
  removeBicycle,
  type ServedBicycle,
  type ServedFleet,
  timeText,
} from './fleet.js';

/** A recorded fleet. */
export interface Recorded {
  /** The address of the recorded service. Links below it are changed to the sandbox. */
  baseUrl: string;
  /** The uuids of its organizations. The main organization is the first. */
  organizations: readonly string[];
  bicycles: Iterable<RecordedBicycle>;
}

export interface RecordedBicycle {
  bicycle: Bicycle;
  /** The uuid of the organization. */
  organization: string;
}

/**
 * Replays the changes of a recorded fleet.
 * @param recordedAt the address of the recorded service
 */
export function createPlayback(fleet: ServedFleet, recordedAt: string) {
  return {
    /**
     * Applies recorded changes to a bicycle. Replaces links to the recorded service with links to
     * the sandbox. Does nothing when the bicycle does not exist.
     */
    playChanges(uuid: string, changes: Partial<Bicycle>): void {
      const row = fleet.bicyclesByUuid.get(uuid);
      if (row !== undefined)
        changeBicycle(fleet, row, leadHere(changes, recordedAt, fleet.baseUrl));
    },
    playArrival: (arrival: RecordedBicycle) =>
      changeBicycle(fleet, addRecordedBicycle(fleet, arrival, recordedAt), {}),
    /** Removes a bicycle from the lists. */
    playDeparture(uuid: string): void {
      const row = fleet.bicyclesByUuid.get(uuid);
      if (row !== undefined) removeBicycle(fleet, row);
    },
  };
}

/** Fills an empty fleet. */
export function addRecorded(fleet: ServedFleet, recorded: Recorded): void {
  const [main = ''] = recorded.organizations;
  const organizations = recorded.organizations.map((uuid, index) => ({
    uuid,
    name: fleet.organizations[index]?.name ?? `Organization ${index + 1}`,
    parent: undefined,
  }));
  fleet.organizations.splice(0, fleet.organizations.length, ...organizations);
  for (const zone of fleet.zones) zone.organization = main;
  const created = ({ bicycle }: RecordedBicycle) => String(bicycle.created ?? '');
  const sorted = [...recorded.bicycles].sort((a, b) => created(a).localeCompare(created(b)));
  for (const each of sorted) addRecordedBicycle(fleet, each, recorded.baseUrl);
}

/** Adds a recorded bicycle at the end of the list. Does not push a message. */
function addRecordedBicycle(
  fleet: ServedFleet,
  { bicycle, organization }: RecordedBicycle,
  baseUrl: string,
): BicycleRow {
  const moment = nextMoment(fleet);
  const modified = timeText(fleet, moment);
  const body = {
    created: modified,
    name: '',
    state: 'available',
    ...leadHere(bicycle, baseUrl, fleet.baseUrl),
    modified,
    ...(fleet.isObserved ? { concurrency_version: moment } : {}),
  } as ServedBicycle;
  const known = hasOrganization(fleet, organization)
    ? organization
    : (fleet.organizations[0]?.uuid ?? '');
  const row = makeRow(body, { index: nextIndex(fleet), organization: known, moment });
  const before = fleet.bicyclesByUuid.get(body.uuid);
  if (before !== undefined) removeBicycle(fleet, before);
  addBicycle(fleet, row);
  return row;
}

/** Replaces links below one address with links below another. */
function leadHere<Value>(value: Value, from: string, to: string): Value {
  return JSON.parse(JSON.stringify(value).replaceAll(`"${from}/`, `"${to}/`));
}
