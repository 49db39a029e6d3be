import type { StepId } from './protocol.ts';

/** The names of a run's children; by their beginnings the kinds are told apart. */
export const stepActor = (step: StepId): string => `step:${step}`;
export const steeringActor = (id: string): string => `steer:${id}`;
export const askActor = (id: string): string => `ask:${id}`;
