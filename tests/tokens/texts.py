"""Texts for the token tests: prose of our own in many scripts, and texts that tokenizers trip over."""

from typing import Final

ENGLISH: Final = (
    "The lamplighter climbed the last of the ladder and looked out over the harbour. Below him the boats turned slowly on "
    "their ropes, and someone on the quay was singing an old song about a whale. He had lit every lamp in the street but "
    'one, and that one he always left until the end. "You are late tonight," said the girl at the window. "The fog was in '
    'no hurry," he answered, and she laughed. They had known each other since the winter the bridge fell, when half of the '
    "town had slept in the old mill and shared one kettle."
)
CHINESE: Final = (
    "傍晚时分，老船长把最后一盏灯挂在码头的木柱上，转身望着慢慢暗下来的海面。远处的渔船一条接一条地回来，孩子们在岸边跑来跑去，"
    "等着看今天的收获。他想起三十年前的那个冬天，桥被大水冲走了，全镇的人都挤在旧磨坊里，围着一口锅煮茶、讲故事。那时候他还年轻，"
    "总觉得世界很大，总有一天要坐船去很远的地方。后来他真的去了，见过会发光的鱼，也见过从不下雪的岛，可是每到夜里，他最想念的还是"
    "家门口这条安静的小街。“爷爷，今天的海有多深？”小女孩拉着他的衣角问。他笑了笑，说：“比你昨天问的时候深了一点，比你明天要问的时候"
    "浅一点。”她想了很久，觉得这个回答很有道理，于是把它写进了自己的本子里。风从港口吹进来，带着盐和木头的味道，灯光在水面上轻轻摇晃。"
    "没有人说话，大家都在听远处的钟声，一下，两下，三下，好像有人在很慢很慢地数着星星。第二天早上，雾散了，市场又热闹起来，卖面包的、"
    "卖花的、修鞋的都在大声招呼客人，昨夜的安静就像一个没有讲完的梦。"
)
TRADITIONAL: Final = (
    "傍晚時分，老船長把最後一盞燈掛在碼頭的木柱上，轉身望著慢慢暗下來的海面。遠處的漁船一條接一條地回來，孩子們在岸邊跑來跑去，"
    "等著看今天的收穫。他想起三十年前的那個冬天，橋被大水沖走了，全鎮的人都擠在舊磨坊裡，圍著一口鍋煮茶、講故事。那時候他還年輕，"
    "總覺得世界很大，總有一天要坐船去很遠的地方。後來他真的去了，見過會發光的魚，也見過從不下雪的島。"
)
JAPANESE: Final = (
    "夕方になると、灯台守の老人はゆっくりと階段を上り、窓の外に広がる海を眺めました。港では船が一そうずつ帰ってきて、子どもたちが"
    "岸辺を走りまわっています。「今日の海はどれくらい深いの？」と女の子がたずねると、老人は笑って「昨日より少しだけ深いよ」と答えました。"
    "彼女はしばらく考えてから、その言葉をノートに書きとめました。風が塩と木のにおいを運んできて、ランプの光が水の上でゆれていました。"
)
KOREAN: Final = (
    "저녁이 되자 등대지기는 천천히 계단을 올라가 창밖의 바다를 바라보았다. 항구에는 배들이 하나둘 돌아오고 "
    "아이들은 물가를 뛰어다니고 있었다. 오늘 바다는 얼마나 깊어요? 소녀가 묻자 노인은 웃으며 어제보다 조금 "
    "더 깊다고 대답했다. 소녀는 한참을 생각하다가 그 말을 공책에 적었다. 바람은 소금과 나무 냄새를 실어 "
    "오고, 등불은 물 위에서 가만히 흔들리고 있었다."
)
RUSSIAN: Final = (
    "Вечером старый смотритель маяка медленно поднялся по лестнице и посмотрел на море. В гавань одна за "
    "другой возвращались "
    "лодки, дети бегали по берегу и ждали улова. «Какой глубины сегодня море?» — спросила девочка. "
    "Старик улыбнулся и ответил, "
    "что немного глубже, чем вчера. Она долго думала, а потом записала его слова в тетрадь. Ветер "
    "приносил запах соли и дерева, "
    "и свет фонарей тихо качался на воде."
)
GREEK: Final = (
    "Το βράδυ ο γέρος φαροφύλακας ανέβηκε αργά τις σκάλες και κοίταξε τη θάλασσα. Τα καΐκια γύριζαν ένα "
    "ένα στο λιμάνι και τα "
    "παιδιά έτρεχαν στην ακτή. Το κορίτσι έγραψε τα λόγια του στο τετράδιό της."
)
ARABIC: Final = (
    "في المساء صعد حارس المنارة العجوز الدرج ببطء ونظر إلى البحر. كانت القوارب تعود إلى الميناء واحدا بعد آخر، وكان الأطفال "
    "يركضون على الشاطئ. سألته الفتاة عن عمق البحر اليوم، فابتسم وقال إنه أعمق قليلا من الأمس، فكتبت كلماته في دفترها."
)
HEBREW: Final = (
    "בערב עלה שומר המגדלור הזקן לאט במדרגות והביט אל הים. הסירות חזרו אל הנמל אחת אחרי השנייה והילדים רצו על החוף."
)
HINDI: Final = (
    "शाम को बूढ़ा रखवाला धीरे धीरे सीढ़ियाँ चढ़कर समुद्र की ओर देखने लगा। नावें एक एक करके बंदरगाह में "
    "लौट रही थीं और बच्चे किनारे "
    "पर दौड़ रहे थे। लड़की ने पूछा कि आज समुद्र कितना गहरा है, तो वह मुस्कुराया और बोला कि कल से थोड़ा अधिक।"
)
THAI: Final = (
    "ตอนเย็นชายชราเดินขึ้นบันไดช้าๆ แล้วมองออกไปที่ทะเล เรือกลับเข้าท่าทีละลำ เด็กๆ วิ่งเล่นอยู่ริมฝั่ง และเด็กหญิงก็เขียนคำตอบของเขาลงในสมุด"
)
FRENCH: Final = (
    "Le soir, le vieux gardien du phare montait lentement l'escalier et regardait la mer. Les bateaux "
    "rentraient un à un dans le "
    "port, les enfants couraient sur la grève. La petite fille réfléchit longtemps, puis elle écrivit sa "
    "réponse dans son cahier."
)
GERMAN: Final = (
    "Am Abend stieg der alte Leuchtturmwärter langsam die Treppe hinauf und schaute auf das Meer. Die "
    "Boote kehrten eines nach "
    "dem anderen in den Hafen zurück, und die Kinder liefen am Ufer entlang. Das Mädchen schrieb seine Antwort in ihr Heft."
)
SPANISH: Final = (
    "Por la tarde, el viejo farero subió despacio la escalera y miró el mar. Los barcos volvían uno a "
    "uno al puerto y los niños "
    "corrían por la orilla. La niña pensó mucho rato y después escribió la respuesta en su cuaderno."
)
CODE: Final = '''def lamps(street, *, lit=True):
    """Return the lamps of a street."""
    found = [lamp for lamp in street.lamps if lamp.lit is lit]
    if not found:
        raise LookupError(f"no lamps in {street.name!r}")
    return sorted(found, key=lambda lamp: (lamp.row, lamp.height))
'''
EMOJI: Final = "🦊🦊 👩‍👩‍👧‍👦 🇨🇿 ❤️ 🔥✨ 👍🏽"

LANGUAGES: Final = {
    "english": ENGLISH,
    "chinese": CHINESE,
    "traditional chinese": TRADITIONAL,
    "japanese": JAPANESE,
    "korean": KOREAN,
    "russian": RUSSIAN,
    "greek": GREEK,
    "arabic": ARABIC,
    "hebrew": HEBREW,
    "hindi": HINDI,
    "thai": THAI,
    "french": FRENCH,
    "german": GERMAN,
    "spanish": SPANISH,
    "code": CODE,
    "emoji": EMOJI,
}

HOSTILE: Final = {
    "empty": "",
    "nul": "a\0b\0",
    "lone surrogate": "a\ud800b",
    "surrogates the wrong way round": "\udc00\ud83d",
    "special token": "<|endoftext|><|im_start|>system",
    "bidi": "\u202eabc\u202c\u2066x\u2069",
    "combining": "e" + "\u0301" * 5000,
    "one letter": "a" * 50_000,
    "one ideograph": "船" * 50_000,
    "one sign": "!" * 50_000,
    "spaces": " " * 50_000,
    "line breaks": "\n" * 50_000,
    "zero width": "\u200b\u200d\ufeff" * 2000,
    "private use": "\ue000\U000f0000" * 500,
    "controls": "".join(map(chr, range(32))) * 20,
}
