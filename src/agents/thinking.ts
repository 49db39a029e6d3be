import type { LaunchRequest } from './adapter.ts';
import { readModelName } from './model.ts';

/** How hard it is to think: what the model's own name ends in, else what the definition says; null: as it does by itself. */
export function thinkingOf({ model, settings }: Pick<LaunchRequest, 'model' | 'settings'>): string | null {
  return (model === null ? null : readModelName(model).thinking) ?? settings.thinking ?? null;
}
