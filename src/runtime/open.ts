import type { InspectionEvent } from 'xstate';
import type { Answer, Command, JournalRecord, Owner } from '../../machines/protocol.ts';
import { openInbox } from '../inbox/index.ts';
import type { ResolvedPlan } from '../plan/index.ts';
import type { RunDir } from '../record/index.ts';
import { Runtime } from './run.ts';
import type { Machines } from './wire.ts';
