import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is timestamp_unixtime_ms of the event. That of the batch, when it was made or received, counts for the user, and for events without one.',
    sources: [
      'https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json',
      'https://support.mparticle.com/hc/en-us/articles/7004272100365-What-is-the-Difference-Between-Batch-and-Event-Timestamp',
    ],
  },
  zone: {
    rule: 'Milliseconds since 1970.',
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
  },
  ids: {
    rule: 'source_message_id is the globally unique id of an event; without it the uuid follows from event_id, else from batch_id and place.',
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
  },
  links: {
    rule: "mpid is mParticle's id of a person, to which every identity leads; the identity that the option names is the user.",
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
    option: 'user_identity',
  },
  counts: {
    rule: 'mParticle promises delivery at least once and no deduplication: a batch delivered twice is stored once, by its ids. Nothing is skipped but hashed identities.',
    sources: ['https://docs.mparticle.com/developers/apis/http/'],
  },
};
