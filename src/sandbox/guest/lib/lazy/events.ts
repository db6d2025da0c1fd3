import { EventEmitter } from './event-emitter.ts';

export const create = (): unknown => EventEmitter;
