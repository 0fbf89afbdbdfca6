// `fleet rounds --plan FILE`: writes a plan that puts the bicycles of the tours into maintenance.

import { BICYCLE, bicycleUuid } from '../../api/bicycle.js';
import { planOfAction } from '../../bulk/actions.js';
import { writePlan } from '../../bulk/plan-file.js';
import type { Context } from '../../context.js';
import { textOf } from '../../terminal/values.js';
import type { Rounds } from './plan.js';

const TRANSITION = 'put_in_maintenance';
/** The target state in the plan. Assumed: this is the state that the transition leads to. */
const TARGET_STATE = 'in_maintenance';
/** The number of bicycles that are read in parallel. */
const CONCURRENCY = 4;

/** Writes a plan for `fleet apply`. Does not change anything on the service. */
export async function writeMaintenancePlan(
  context: Context,
  { vans }: Rounds,
  path: string,
): Promise<void> {
  const tasks = vans.flatMap(({ stops }) =>
    stops.flatMap(({ bicycle }) => {
      const uuid = bicycleUuid(bicycle);
      return uuid === undefined
        ? []
        : [{ key: uuid, uuid, name: textOf(bicycle.name)?.trim() || null }];
    }),
  );
  const action = { resource: BICYCLE, verb: TRANSITION, fields: {}, target: TARGET_STATE };
  const plan = planOfAction(action, tasks, { isSingle: false, isStdin: false });
  await writePlan(context, plan, path, { concurrency: CONCURRENCY, settle: 0 });
}
