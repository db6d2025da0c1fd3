/** Hosts of referrers: their medium, and the parameter that contains a search engine's terms. */

type ReferrerMedium = 'search' | 'social' | 'email' | 'ai' | 'unknown';

interface ReferrerSource {
  readonly medium: ReferrerMedium;
  /** Lower case: `google`. */
  readonly source: string;
  /** Parameters that contain the search terms. */
  readonly terms: readonly string[];
}

/** Returns `undefined` for an unknown host. Accepts any case, and a port. */
export function referrerSource(host: string): ReferrerSource | undefined {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
  if (name.length > 253) return undefined;
  let rest = name;
  for (;;) {
    const found = byHost.get(rest) ?? byFamily.get(familyOf(rest));
    if (found !== undefined) return found;
    const dot = rest.indexOf('.');
    if (dot === -1) return undefined;
    rest = rest.slice(dot + 1);
  }
}

/** Returns the family of a host with a country's domain: `google.co.uk`, `google.de` → `google`; empty if there is no such host. */
function familyOf(host: string): string {
  return /^([a-z0-9-]+)\.(?:com?\.[a-z]{2}|[a-z]{2,3})$/.exec(host)?.[1] ?? '';
}

/** Engines with one domain per country. */
const families: Readonly<Record<string, readonly string[]>> = {
  google: ['q', 'query'],
  bing: ['q'],
  yahoo: ['p', 'q'],
  yandex: ['text'],
  ask: ['q'],
  aol: ['q', 'query'],
  ecosia: ['q'],
  qwant: ['q'],
  startpage: ['query', 'q'],
  lycos: ['query', 'q'],
};

/** Source: hosts, then parameters after a colon. */
const searchHosts: Readonly<Record<string, string>> = {
  duckduckgo: 'duckduckgo.com duck.com:q',
  brave: 'search.brave.com:q',
  baidu: 'baidu.com:wd word kw',
  naver: 'search.naver.com m.search.naver.com:query',
  daum: 'search.daum.net:q',
  seznam: 'search.seznam.cz:q',
  sogou: 'sogou.com:query keyword',
  '360.cn': 'so.com so.360.cn:q',
  kagi: 'kagi.com:q',
  mojeek: 'mojeek.com:q',
  metager: 'metager.de metager.org:eingabe',
  swisscows: 'swisscows.com:query',
  'web.de': 'suche.web.de:su q',
  gmx: 'suche.gmx.net:su q',
  't-online': 'suche.t-online.de:q',
  orange: 'lemoteur.orange.fr:kw',
  virgilio: 'ricerca.virgilio.it:qs',
  rambler: 'nova.rambler.ru:query',
  'mail.ru': 'go.mail.ru:q',
  coccoc: 'coccoc.com:query',
  goo: 'search.goo.ne.jp:MT',
  rakuten: 'websearch.rakuten.co.jp:qt',
  ixquick: 'ixquick.com:query',
  dogpile: 'dogpile.com:q',
  presearch: 'presearch.com presearch.org:q',
  you: 'you.com:q',
  excite: 'excite.com:q',
  gigablast: 'gigablast.com:q',
  webcrawler: 'webcrawler.com:q',
};

const socialHosts: Readonly<Record<string, string>> = {
  facebook: 'facebook.com fb.com fb.me m.me messenger.com',
  instagram: 'instagram.com',
  threads: 'threads.net threads.com',
  twitter: 'twitter.com t.co x.com',
  linkedin: 'linkedin.com lnkd.in',
  reddit: 'reddit.com redd.it',
  youtube: 'youtube.com youtu.be',
  pinterest: 'pinterest.com pin.it pinterest.de pinterest.fr pinterest.co.uk pinterest.es pinterest.it',
  tiktok: 'tiktok.com',
  snapchat: 'snapchat.com',
  tumblr: 'tumblr.com',
  vk: 'vk.com vkontakte.ru',
  odnoklassniki: 'ok.ru odnoklassniki.ru',
  weibo: 'weibo.com weibo.cn',
  wechat: 'weixin.qq.com',
  qzone: 'qzone.qq.com',
  whatsapp: 'whatsapp.com wa.me',
  telegram: 't.me telegram.org telegram.me',
  discord: 'discord.com discord.gg discordapp.com',
  mastodon: 'mastodon.social mastodon.online joinmastodon.org',
  bluesky: 'bsky.app',
  'hacker news': 'news.ycombinator.com',
  stackoverflow: 'stackoverflow.com',
  github: 'github.com',
  quora: 'quora.com',
  medium: 'medium.com',
  xing: 'xing.com',
  viadeo: 'viadeo.com',
  flickr: 'flickr.com',
  vimeo: 'vimeo.com',
  twitch: 'twitch.tv',
  livejournal: 'livejournal.com livejournal.ru',
  mixi: 'mixi.jp',
  'last.fm': 'last.fm lastfm.ru',
  stumbleupon: 'stumbleupon.com',
  delicious: 'delicious.com',
  'paper.li': 'paper.li',
  meetup: 'meetup.com',
  'product hunt': 'producthunt.com',
  'dev.to': 'dev.to',
  'lobste.rs': 'lobste.rs',
  line: 'line.me',
  kakao: 'story.kakao.com',
};

const emailHosts: Readonly<Record<string, string>> = {
  gmail: 'mail.google.com gmail.com inbox.google.com',
  'outlook.com': 'mail.live.com outlook.live.com outlook.office.com outlook.office365.com hotmail.com',
  'yahoo! mail': 'mail.yahoo.com mail.yahoo.net mail.yahoo.co.uk mail.yahoo.co.jp',
  'aol mail': 'mail.aol.com',
  'icloud mail': 'mail.icloud.com',
  'proton mail': 'mail.proton.me mail.protonmail.com',
  fastmail: 'app.fastmail.com fastmail.com',
  zoho: 'mail.zoho.com mail.zoho.eu',
  'gmx mail': 'navigator.gmx.net bap.navigator.gmx.net navigator-bs.gmx.com',
  'web.de mail': 'navigator.web.de bap.navigator.web.de 3c.web.de',
  'yandex mail': 'mail.yandex.ru mail.yandex.com',
  'mail.ru mail': 'e.mail.ru',
  qq: 'mail.qq.com',
  'orange webmail': 'webmail.orange.fr messagerie.orange.fr',
  seznam: 'email.seznam.cz',
  naver: 'mail.naver.com',
  'libero mail': 'mail.libero.it webmail.libero.it',
  comcast: 'mail.comcast.net connect.xfinity.com',
};

const aiHosts: Readonly<Record<string, string>> = {
  chatgpt: 'chatgpt.com chat.openai.com',
  claude: 'claude.ai',
  gemini: 'gemini.google.com bard.google.com',
  copilot: 'copilot.microsoft.com',
  perplexity: 'perplexity.ai',
  mistral: 'chat.mistral.ai',
  deepseek: 'chat.deepseek.com',
  grok: 'grok.com',
  'meta ai': 'meta.ai',
  phind: 'phind.com',
};

/** Hosts of an engine's domain that are not searches. */
const unknownHosts: Readonly<Record<string, string>> = {
  google:
    'accounts.google.com docs.google.com drive.google.com sites.google.com support.google.com developers.google.com ' +
    'maps.google.com groups.google.com calendar.google.com meet.google.com cloud.google.com play.google.com ' +
    'translate.google.com photos.google.com classroom.google.com workspace.google.com',
  bing: 'maps.bing.com ads.bing.com',
  'yahoo!': 'finance.yahoo.com news.yahoo.com sports.yahoo.com answers.yahoo.com login.yahoo.com',
  outbrain: 'paid.outbrain.com outbrain.com',
  taboola: 'trc.taboola.com api.taboola.com taboola.com',
};

const byFamily: ReadonlyMap<string, ReferrerSource> = new Map(
  Object.entries(families).map(([name, terms]) => {
    const source = name === 'yahoo' ? 'yahoo!' : name;
    return [name, { medium: 'search', source, terms }];
  }),
);

const byHost: ReadonlyMap<string, ReferrerSource> = new Map([
  ...entries('unknown', unknownHosts),
  ...entries('search', searchHosts),
  ...entries('social', socialHosts),
  ...entries('email', emailHosts),
  ...entries('ai', aiHosts),
]);

function entries(medium: ReferrerMedium, table: Readonly<Record<string, string>>): [string, ReferrerSource][] {
  return Object.entries(table).flatMap(([source, line]) => {
    const [hosts = '', terms = ''] = line.split(':');
    const entry = { medium, source, terms: terms.split(' ').filter(Boolean) };
    return hosts.split(' ').map((host): [string, ReferrerSource] => [host, entry]);
  });
}
