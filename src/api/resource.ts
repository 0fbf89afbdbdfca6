// What can be acted on, one thing or many: what it is called, and where the service has it.

import { ALERTS_PATH, alertActionsPath, alertPath } from './alert.js';
import { actionsPath, BICYCLES_PATH, bicyclePath, transitionsPath } from './bicycle.js';

export interface Resource {
  one: string;
  many: string;
  /** The field that people know it by. */
  nameField: string;
  listPath: string;
  path(uuid: string): string;
  /** Where an action on it is sent. */
  actionsPath(uuid: string): string;
  /** The service's own history of its actions, where there is one. */
  historyPath?(uuid: string): string;
}

export const BICYCLE: Resource = {
  one: 'bicycle',
  many: 'bicycles',
  nameField: 'name',
  listPath: BICYCLES_PATH,
  path: bicyclePath,
  actionsPath,
  historyPath: transitionsPath,
};

export const ALERT: Resource = {
  one: 'alert',
  many: 'alerts',
  nameField: 'message',
  listPath: ALERTS_PATH,
  path: alertPath,
  actionsPath: alertActionsPath,
};
