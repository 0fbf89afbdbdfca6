// Functions for tests that change or read the sandbox directly, without the interface.
import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import { changeAlert, raiseAlert } from './alerts.js';
import type { BicycleRow, Publication, ServedAlert, ServedBicycle, ServedFleet } from './fleet.js';
import { changeBicycle, historyOf, runTransition } from './fleet.js';
import type { ServedTransition } from './transitions.js';

export function createSteering(
  fleet: ServedFleet,
  nextUuid: () => string,
  publish: (publication: Publication) => number,
) {
  const bicycleRow = (uuid: string) => required(fleet.bicyclesByUuid.get(uuid), 'bicycle', uuid);
  const findAlert = (uuid: string) => fleet.alerts.find(({ body }) => body.uuid === uuid);
  return {
    /** Returns a copy of a bicycle as it is served now. */
    bicycle: (uuid: string) => structuredClone(fleet.bicyclesByUuid.get(uuid)?.body),
    /**
     * Returns copies of all bicycles, or of those of one organization, in the default list order.
     */
    bicycles(organization?: string): ServedBicycle[] {
      const isWanted = (row: BicycleRow) =>
        organization === undefined || row.organization === organization;
      return copiesInListOrder(fleet, fleet.bicycles.filter(isWanted));
    },
    /** Returns a copy of an alert as it is served now. */
    alert: (uuid: string) => structuredClone(findAlert(uuid)?.body),
    /** Returns copies of all alerts, in the default list order. */
    alerts: (): ServedAlert[] => copiesInListOrder(fleet, fleet.alerts),
    /** Returns the transitions of a bicycle, oldest first. */
    history: (uuid: string) => structuredClone(historyOf(fleet, bicycleRow(uuid))),
    /**
     * Changes fields of a bicycle, pushes a message with the changed bicycle, and returns a copy of
     * it. Throws when the bicycle does not exist.
     */
    changeBicycle(uuid: string, changes: Partial<Bicycle>): ServedBicycle {
      const row = bicycleRow(uuid);
      changeBicycle(fleet, row, changes);
      return structuredClone(row.body);
    },
    /**
     * Runs a transition on behalf of the service, not of a user. Throws when the bicycle's state
     * does not allow the transition.
     */
    act(uuid: string, transition: ServedTransition, rider = fleet.users[2]): ServedBicycle {
      const row = bicycleRow(uuid);
      const from = row.body.state;
      if (!runTransition(fleet, row, transition, 'service', rider)) {
        throw new Error(`the sandbox cannot "${transition}" a bicycle that is ${from}`);
      }
      return structuredClone(row.body);
    },
    /**
     * Raises an alert about a bicycle. The values in `changes` replace the alert's default values.
     */
    raiseAlert(bicycle: string, alertType: string, changes?: Partial<Alert>): ServedAlert {
      const input = { uuid: nextUuid(), alert_type: alertType, roles: ['fleet_operator', 'admin'] };
      return structuredClone(raiseAlert(fleet, bicycleRow(bicycle), input, changes).body);
    },
    /** Changes fields of an alert, for example its state. */
    changeAlert(uuid: string, changes: Partial<Alert>): ServedAlert {
      const row = required(findAlert(uuid), 'alert', uuid);
      changeAlert(fleet, row, changes);
      return structuredClone(row.body);
    },
    /**
     * Pushes any message, unchanged, to the subscribers of a topic. Returns the id of the event.
     */
    publish: (topic: string, sender: string, message: unknown) =>
      publish({ sender, topics: [topic], message: JSON.stringify(message) }),
  };
}

/**
 * Returns the bicycles in the default list order: by creation, or newest first with `--service
 * observed`.
 */
function copiesInListOrder<Body extends { created?: string | null }>(
  fleet: ServedFleet,
  rows: readonly { index: number; body: Body }[],
): Body[] {
  const inOrder = [...rows];
  const created = ({ body }: { body: Body }) => body.created ?? '';
  if (fleet.isObserved) {
    inOrder.sort((left, right) =>
      created(left) === created(right)
        ? right.index - left.index
        : created(left) < created(right)
          ? 1
          : -1,
    );
  }
  return inOrder.map(({ body }) => structuredClone(body));
}

function required<Row>(row: Row | undefined, kind: string, uuid: string): Row {
  if (row === undefined) throw new Error(`the sandbox has no ${kind} ${uuid}`);
  return row;
}
