import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated, statedList } from './stated.ts';
import { importChoiceSchema } from './import-choice.ts';
import { pageLimitDefault, pageLimitMax, pageQuerySchema, pageSchema } from './pagination.ts';

export const importRunStates = ['queued', 'running', 'paused', 'failed', 'cancelled', 'completed', 'undone'] as const;
export type ImportRunState = (typeof importRunStates)[number];
const stageNames = ['export', 'check', 'replace', 'load', 'verify', 'report', 'undo'] as const;

/** Why a check lets no load begin. */
export const checkProblemCodes = ['no_events', 'too_many_rejected', 'unclear_replace', 'stored_before'] as const;
export type CheckProblemCode = (typeof checkProblemCodes)[number];

const time = orNull(Type.String({ format: 'date-time' }));
const count = Type.Integer({ minimum: 0 });
const countOrUnknown = orNull(count, 'Null: not known yet.');
const counts = Type.Record(Type.String(), count);

export const importStageSchema = Type.Object({
  stage: Type.Enum([...stageNames]),
  state: Type.Enum(['pending', 'active', 'done'], {
    description: '`active`: the stage in which the run is, also while it is paused or has failed.',
  }),
  unit: Type.Enum(['records', 'events'], { description: 'What `done` and `total` count.' }),
  parts_done: count,
  parts_total: countOrUnknown,
  done: count,
  total: countOrUnknown,
  bytes: Type.Integer({ minimum: 0, description: 'Before compression; in `export` as the source sends them.' }),
  bytes_total: countOrUnknown,
  share: orNull(Type.Number({ minimum: 0, maximum: 1 }), 'How much is done; null: not known.'),
  rate: Type.Number({ description: '`done` per second, over the last half minute or so.' }),
  eta_seconds: orNull(Type.Integer({ minimum: 0 }), 'Until this stage is done; null: not known.'),
  started_at: time,
  finished_at: time,
  last_progress_at: time,
});

const rejectedMax = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'Share of the records that may be rejected before `load` refuses to start: 0.01 is one in a hundred.',
});
const eventsPerSecond = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: 'Highest speed of loading; 0: as fast as the target takes them.',
});
const again = Type.Boolean({
  description: 'Load although an earlier run made other events of the same records, which stay beside these.',
});
const replace = Type.Union(
  [Type.Boolean(), Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 20 })],
  {
    description:
      'Take back what earlier runs stored before this one loads: true for the one that made other events of the same records, ' +
      'or the ids of the runs. Nothing is taken back before the check has passed. Needs the scope `import_undo:write`, too.',
  },
);
const last = Type.Enum(['check', 'report'], {
  description: 'The last stage to do. `check` converts and examines everything and sends nothing.',
});

export const importRunSchema = Type.Object({
  id: Type.String(),
  plugin_config: Type.Integer({ description: 'Id of the import app config; 0: a run of the command line.' }),
  source: Type.String({ description: 'Slug of the import app.' }),
  state: Type.Enum([...importRunStates]),
  stage: Type.Enum([...stageNames]),
  reason: Type.String({ description: 'Why it is paused or has failed, one sentence; else empty.' }),
  waiting: orNull(
    Type.Object({ reason: Type.String(), until: time }),
    'What the run waits for at the moment. It goes on by itself.',
  ),
  eta_seconds: orNull(Type.Integer({ minimum: 0 }), 'Of the present stage.'),
  options: Type.Object({
    from: time,
    to: time,
    format: Type.String(),
    format_options: Type.Record(Type.String(), Type.String()),
    names: orNull(Type.Record(Type.String(), Type.Unknown()), "Names of its own; null: the format's table."),
    choose: orNull(importChoiceSchema, 'Null: all of it, as the format makes it.'),
    transform: orNull(
      Type.Object({
        config: orNull(Type.Integer(), 'Id of the transformation config; null: a file of the command line.'),
        name: Type.String(),
        hash: Type.String({ description: 'Of code and settings: with another hash the records become other events.' }),
      }),
      'Code that changes the events before the check; null: none.',
    ),
    again,
    replace,
    last,
    limit: orNull(Type.Integer({ minimum: 1 }), 'A trial: so many records of the source and no more. Null: all.'),
    rejected_max: rejectedMax,
    events_per_second: eventsPerSecond,
    preflight: Type.Boolean({ description: 'Whether the run begins with the preflight.' }),
    scheduled: Type.Boolean({ description: 'Whether a schedule has started it.' }),
    target: Type.Object({
      kind: Type.Enum(['project', 'http']),
      url: orNull(Type.String()),
    }),
  }),
  stages: Type.Array(importStageSchema),
  totals: Type.Object({
    records: Type.Integer({ minimum: 0, description: 'Records of the source.' }),
    skipped: counts,
    rejected: count,
    events: Type.Integer({ minimum: 0, description: 'Events that the records became.' }),
    left_out: Type.Record(Type.String(), count, { description: 'Events left out by what was chosen, by reason.' }),
    duplicates: count,
    loaded: Type.Integer({ minimum: 0, description: 'Events that the target acknowledged.' }),
    replaced: Type.Record(Type.String(), count, { description: 'Events taken back of runs that it replaces, by run.' }),
    verified: orNull(count, "Events found in the target's store; null: not looked at."),
  }),
  check_problems: orNull(
    Type.Array(Type.Enum([...checkProblemCodes])),
    'Why the check lets no load begin with the present options: nothing to load, more rejected than `rejected_max`, unclear which ' +
      'run to replace, other events of the same records stored by an earlier run. Empty: it has passed. Null: not checked.',
  ),
  promoted_from: orNull(Type.String(), 'The trial that this run is the full form of.'),
  command: orNull(
    Type.String(),
    'Of a run of the command line (config 0): the command that resumes it, with placeholders for secrets. Null: a run of an import app.',
  ),
  created_at: Type.String({ format: 'date-time' }),
  started_at: time,
  finished_at: time,
});
export type ImportRunRecord = Static<typeof importRunSchema>;
export type ImportStageRecord = Static<typeof importStageSchema>;

export const importRunPageSchema = pageSchema(importRunSchema);

export const importRunQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  state: Type.Optional(Type.Enum([...importRunStates])),
});

/** Runs of a whole project. */
export const importRunsQuerySchema = Type.Object({
  state: Type.Optional(
    Type.String({
      ...statedList(importRunStates),
      description: `Only these, with commas between: ${importRunStates.join(', ')}.`,
    }),
  ),
  plugin_config: Type.Optional(Type.Integer({ minimum: 1, description: 'Only runs of this config.' })),
  source: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only runs of this import app, by its slug: `files`.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: pageLimitMax, default: pageLimitDefault, description: 'Runs per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Where the page before ended; taken from `next`.', maxLength: 100 }),
  ),
});
export type ImportRunsQuery = Static<typeof importRunsQuerySchema>;

export const importRunsSchema = Type.Object({
  next: orNull(Type.String(), 'URL of the next, older page.'),
  previous: Type.Null({ description: 'Pages lead from new to old only.' }),
  by_state: Type.Record(Type.String(), Type.Integer(), {
    description: 'How many there are in each state, whatever the page.',
  }),
  results: Type.Array(
    Type.Object({
      ...importRunSchema.properties,
      config_name: orNull(
        Type.String(),
        'As the config is called, or its app; of a run of the command line "Command line". Null: the config is gone.',
      ),
    }),
    { description: 'Newest first.' },
  ),
});
export type ImportRunsRecord = Static<typeof importRunsSchema>;

/** What is left out is as the config's settings say. */
export const importRunCreateSchema = Type.Object({
  from: Type.Optional(orNull(Type.String(stated.time), 'ISO 8601: from this time on.')),
  to: Type.Optional(orNull(Type.String(stated.time), 'ISO 8601: up to, not including; after `from`.')),
  last: Type.Optional(last),
  limit: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }), 'A trial: only so many records.')),
  rejected_max: Type.Optional(rejectedMax),
  events_per_second: Type.Optional(eventsPerSecond),
  format: Type.Optional(Type.String({ description: 'Slug of the format of the records.' })),
  format_options: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  names: Type.Optional(
    orNull(
      Type.Record(Type.String(), Type.Unknown()),
      'How events and properties are called, as the format prints its own.',
    ),
  ),
  again: Type.Optional(again),
  replace: Type.Optional(replace),
  choose: Type.Optional(orNull(importChoiceSchema, 'What of the source is imported, and as what.')),
  transform: Type.Optional(
    orNull(
      Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      'Id of a transformation config of the project, which need not be enabled: its code changes or drops each event before the check.',
    ),
  ),
  preflight: Type.Optional(
    Type.Boolean({ description: 'False: the run begins with the export, whatever the preflight would find.' }),
  ),
});
export type ImportRunCreate = Static<typeof importRunCreateSchema>;

export const importRunResumeSchema = Type.Object({
  rejected_max: Type.Optional(rejectedMax),
  events_per_second: Type.Optional(eventsPerSecond),
  last: Type.Optional(last),
  again: Type.Optional(again),
  replace: Type.Optional(replace),
});
export type ImportRunResume = Static<typeof importRunResumeSchema>;

/** What `millrace import` reports of its run. */
export const importRunReportSchema = Type.Object({
  begin: Type.Optional(Type.Boolean({ description: 'True: the command begins, or resumes the run. Default: false.' })),
  command: Type.String({
    maxLength: 100_000,
    description: 'The command that resumes it, with placeholders for secrets.',
  }),
  days: orNull(
    Type.Object({ first: Type.String({ format: 'date' }), last: Type.String({ format: 'date' }) }),
    'First and last day (UTC) of its events; null: not known yet.',
  ),
  run: Type.Object({
    source: Type.String({ maxLength: 200, description: 'Slug of the import app.' }),
    state: Type.Enum(['running', 'paused', 'failed', 'cancelled', 'completed']),
    stage: Type.Enum(['export', 'check', 'replace', 'load', 'verify', 'report']),
    reason: Type.String({ maxLength: 2000, description: 'Why it is paused or has failed; else empty.' }),
    options: importRunSchema.properties.options,
    stages: Type.Array(importStageSchema, { maxItems: 10 }),
    totals: importRunSchema.properties.totals,
  }),
});
export type ImportRunReport = Static<typeof importRunReportSchema>;

export const importRunReportIdSchema = Type.Object({
  run: Type.String({ format: 'uuid', description: 'Id of the run, which its events bear as `$import_run_id`.' }),
});

export const importRunIdSchema = Type.Object({
  id: Type.Integer({ description: 'Id of the import app config; 0: a run of the command line.' }),
  run: Type.String({ description: 'Id of the run.' }),
});

export const importReportQuerySchema = Type.Object({
  format: Type.Optional(Type.Enum(['json', 'html'], { description: 'Instead of what `Accept` asks for.' })),
});

export const importFileSchema = Type.Object({
  name: Type.String(),
  path: Type.String({ description: 'What to write as the path in the settings of the import app.' }),
  bytes: count,
  complete: Type.Boolean({
    description: 'False while pieces of a file whose `size` was announced are missing: no import reads it.',
  }),
  sha256: orNull(Type.String(), 'Of the piece that came; null in the list.'),
  uploaded_at: Type.String({ format: 'date-time' }),
});
export type ImportFileRecord = Static<typeof importFileSchema>;

export const importFileListSchema = Type.Object({
  count,
  bytes_max: Type.Integer({ description: 'How large a file may be.' }),
  total_bytes: Type.Integer({ description: 'Of all of them.' }),
  total_bytes_max: Type.Integer({ description: 'How much the files of the project may be together.' }),
  results: Type.Array(importFileSchema),
});

export const importFileQuerySchema = Type.Object({
  name: Type.Optional(
    Type.String({ maxLength: 200, description: 'Name of the file. A multipart body brings its own.' }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'A file in pieces: where this piece begins, which is where the one before ended. 0: the first.',
    }),
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Bytes of the whole file, with each of its pieces: until they are all there the file is not complete, and one of the same name ' +
        'is not replaced.',
    }),
  ),
});

export const importFileNameSchema = Type.Object({ name: Type.String({ description: 'As the list names it.' }) });
