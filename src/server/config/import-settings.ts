/** Of imports of history. Part of the table in settings.ts. */
export const importSettings = {
  importStaging: {
    env: 'MILLRACE_IMPORT_STAGING',
    type: 'string',
    default: '',
    help: 'Where imports keep their files: a directory, or s3://bucket/prefix. Empty: `imports` in the data directory.',
  },
  importStagingEndpoint: {
    env: 'MILLRACE_IMPORT_STAGING_ENDPOINT',
    type: 'string',
    default: '',
    help: 'Address of the S3-compatible service of MILLRACE_IMPORT_STAGING. Empty: AWS.',
  },
  importStagingRegion: {
    env: 'MILLRACE_IMPORT_STAGING_REGION',
    type: 'string',
    default: 'us-east-1',
    help: 'Region of the bucket of MILLRACE_IMPORT_STAGING.',
  },
  importStagingAccessKeyId: {
    env: 'MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID',
    type: 'string',
    default: '',
    secret: true,
    help: "Access key of the bucket of MILLRACE_IMPORT_STAGING. Empty: the machine's own.",
  },
  importStagingSecretAccessKey: {
    env: 'MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Secret to MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID.',
  },
  importDiskBudget: {
    env: 'MILLRACE_IMPORT_DISK_BUDGET',
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_125_899_906_842_624,
    help: 'Bytes that imports may have in staging in all before they wait. 0: no limit but the disk, of which 1 GiB stays free.',
  },
  importKeepDays: {
    env: 'MILLRACE_IMPORT_KEEP_DAYS',
    type: 'integer',
    default: 7,
    min: 0,
    max: 3650,
    help: 'Days that the staged records of a run are kept after it was verified or cancelled.',
  },
  importRunDays: {
    env: 'MILLRACE_IMPORT_RUN_DAYS',
    type: 'integer',
    default: 90,
    min: 1,
    max: 36_500,
    help:
      'Days that runs of schedules are kept after they ended; those that found nothing new only MILLRACE_IMPORT_KEEP_DAYS. ' +
      'What they stored stays, and can then not be taken back any more. Runs that people started are kept for good.',
  },
  importDirs: {
    env: 'MILLRACE_IMPORT_DIRS',
    type: 'string',
    default: '',
    help: 'Directories whose files may be imported, comma-separated. Empty: `import-files` in the data directory.',
  },
  importMachineCredentials: {
    env: 'MILLRACE_IMPORT_MACHINE_CREDENTIALS',
    type: 'boolean',
    default: false,
    help:
      "Let import apps of every project read buckets with this machine's own credentials (environment, profile, role of the " +
      'instance). Only where whoever may write a config may also read whatever this machine can read.',
  },
  importUploadBytesMax: {
    env: 'MILLRACE_IMPORT_UPLOAD_BYTES_MAX',
    type: 'integer',
    default: 10_737_418_240,
    min: 1024,
    max: 1_125_899_906_842_624,
    help: 'Largest file that may be uploaded to be imported, in bytes.',
  },
  importUploadsBytesMax: {
    env: 'MILLRACE_IMPORT_UPLOADS_BYTES_MAX',
    type: 'integer',
    default: 107_374_182_400,
    min: 1024,
    max: 1_125_899_906_842_624,
    help: 'Bytes that the uploaded files of one project may have together. 1 GiB of the disk stays free in any case.',
  },
  importRuns: {
    env: 'MILLRACE_IMPORT_RUNS',
    type: 'integer',
    default: 2,
    min: 1,
    max: 64,
    help: 'Imports that run at the same time.',
  },
  importMemoryBytesMax: {
    env: 'MILLRACE_IMPORT_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_125_899_906_842_624,
    help:
      'Memory of the process that imports run in, in bytes. Beyond it the process is ended and started again, and its runs are taken up ' +
      'where they were. 0: half of what the machine or the container has, 512 MiB to 4 GiB.',
  },
  importPreviewMemoryBytesMax: {
    env: 'MILLRACE_IMPORT_PREVIEW_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 536_870_912,
    min: 268_435_456,
    max: 1_125_899_906_842_624,
    help: 'Memory of the process in which one preview or preflight reads its source, in bytes. Beyond it that preview fails.',
  },
  importPreflightMs: {
    env: 'MILLRACE_IMPORT_PREFLIGHT_MS',
    type: 'integer',
    default: 2500,
    min: 100,
    max: 600_000,
    help: 'How long a preflight may take, ms. A target or source that has not answered by then is reported as away or slow; more on a slow machine.',
  },
  importThreads: {
    env: 'MILLRACE_IMPORT_THREADS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 256,
    help: 'Threads in which the records of an import are checked, some 200 MB of memory each. 0: one for each core, 8 at most.',
  },
} as const;
