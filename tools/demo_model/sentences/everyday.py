# SPDX-License-Identifier: Apache-2.0
"""Implications of everyday life, written for this project.

A row of PREDICATES is: who | hypotheses | what entails them | what contradicts them | what leaves
them open. The phrases of a cell are interchangeable and begin with a verb in its base form; who is
p (a person), a (an animal) or b (either). The rows of SENTENCES have no who, and whole sentences.
"""

PREDICATES = """
b|be asleep;be sleeping|take a nap;snore;sleep soundly;dream;doze;be fast asleep|be awake;run around;jump up and down;stand in the middle of the room;be wide awake;eat;swim in the lake;run on the beach;play in the park;jump over a fence;chase a ball;drink water;look out of the window|be in bed;be tired;lie on the sofa;be at home;be quiet;rest;have closed eyes
b|be asleep;be sleeping|take a nap;snore;sleep soundly;dream;doze;be fast asleep|be awake;run around;jump up and down;stand in the middle of the room;be wide awake;eat;swim in the lake;run on the beach;play in the park;jump over a fence;chase a ball;drink water;look out of the window|be in bed;be tired;lie on the sofa;be at home;be quiet;rest;have closed eyes
b|be awake|run;jump;eat;walk around;play;look around;swim|sleep;be asleep;snore;take a nap;dream|be in bed;be at home;be indoors;sit on the sofa;be thirsty;lie on the grass
b|be awake|run;jump;eat;walk around;play;look around;swim|sleep;be asleep;snore;take a nap;dream|be in bed;be at home;be indoors;sit on the sofa;be thirsty;lie on the grass
b|be outdoors;be outside|walk in the forest;run on the beach;play in the park;swim in the lake;sit in the garden;climb a tree;stand in the rain|sit in the kitchen;lie in bed;be in the living room;be inside the house;sleep in the bedroom;stay indoors|be tired;eat;be happy;play with a ball;look at the sky;sleep;wait;be alone
b|be indoors;be inside|sit in the kitchen;lie in bed;be in the living room;sleep in the bedroom;stand in the bathroom|walk in the forest;run on the beach;play in the park;swim in the lake;climb a tree;be outside|be tired;eat;be happy;play with a ball;sleep;wait;be alone
b|move;be in motion|run;walk;swim;jump;crawl;race down the hill;dance|sit still;sleep;stand still;lie in bed;not move|be outside;be hungry;be in the park;be happy;look at the trees
b|be wet;get wet|swim in the lake;stand in the rain without an umbrella;take a bath;take a shower;fall into the water;jump into the pool|be dry;be completely dry;stay dry;sit in the dry house|be outside;look at the river;be on the beach;be cold;drink water
p|play music;make music|play the guitar;play the piano;practice the violin;play the drums;blow the trumpet;play a song on the flute;perform in a band|sit in silence;sleep;eat soup;read a newspaper;not play anything|hold a guitar;be on stage;like music;sit next to a piano;be in a concert hall;practice
p|play a sport;do sport|play football;play tennis;play basketball;play a game of hockey;play volleyball;take part in a tennis match|sleep;eat dinner;read a book;sit on the sofa and watch tv;lie in bed|be in the park;wear sports shoes;be outside;be strong;hold a ball;be on a team
p|eat;have a meal;be eating|eat a sandwich;have lunch;have breakfast;eat an apple;chew on some bread;have dinner;bite into a burger|sleep;swim;sing a song;not eat anything;eat nothing|be in the kitchen;be hungry;sit at the table;be in a restaurant;hold a plate;wait for food;cook
p|be hungry|want something to eat;have not eaten all day;need food;be starving|be full;have just eaten a big meal;not want any food;not be hungry|be in the kitchen;sit at the table;look at the menu;cook;walk to the restaurant
p|drink something;have a drink|drink coffee;drink a glass of water;sip tea;have a cup of tea;drink some juice|sing;drink nothing;not drink anything;shout|be thirsty;hold a cup;sit in a cafe;make coffee;buy some milk
p|cook;make food;prepare a meal|make dinner;fry an egg;bake a cake;cook soup;boil potatoes;prepare lunch;grill meat|sleep;read in bed;swim;ride a bike|be in the kitchen;be hungry;wear an apron;go to the market;hold a knife;wash the dishes
p|be happy;be in a good mood|be glad;be cheerful;feel great;be delighted;be full of joy;jump for joy|be sad;cry bitterly;be unhappy;be upset;feel terrible;be miserable|be at home;sit on a bench;walk in the park;have a dog;be tall;talk on the phone
p|be sad;be unhappy|feel down;be miserable;cry because of bad news;be heartbroken;be upset|be happy;laugh and dance;be cheerful;be delighted;jump for joy|be alone;sit on a bench;be quiet;wait for the bus;be old;look out of the window
p|be angry|be furious;yell in anger;be mad;be very angry|be calm;be relaxed;be in a good mood;not be angry|talk on the phone;wait in line;be late;drive to work;be at the office
p|be tired|be exhausted;be very tired;be worn out;need to sleep;be sleepy|be full of energy;be wide awake and rested;feel fresh;not be tired|be at home;sit on a chair;work;be at the station;drive home
p|be sick;be ill|have a fever;have a bad cold;have the flu;be unwell|be healthy;be completely healthy;feel fine;be in perfect health|be at home;lie in bed;talk to the doctor;be in the hospital;be tired;drink tea
p|smile;be smiling|grin;have a big smile;smile at the camera;give a wide smile|frown;cry;have a sad face|be happy;look at the camera;talk;pose for a picture;be with friends
p|cry;be in tears|weep;sob;burst into tears;cry loudly|laugh;smile happily;giggle|be sad;be hurt;sit alone;watch a movie;hug a friend
p|laugh|giggle;laugh out loud;laugh at a joke;chuckle|cry;sob;be serious and silent|be happy;watch a comedy;listen to a joke;be with friends;smile
p|talk;speak|talk on the phone;tell a story;give a speech;chat with a friend;explain something;whisper|be silent;say nothing;not say a word;keep quiet|sit in the office;hold a phone;listen;be with a friend;stand on the stage
p|be silent;say nothing|keep quiet;not say a word;remain silent|talk loudly;shout;sing;tell a story;give a speech|listen;sit in a church;read;wait;be alone
p|work;be working|work in the office;be at work on a report;repair a roof;be busy with a job;work on a farm|be on vacation;sleep;relax on the beach;have a day off;play a video game|be in the office;wear a uniform;use a computer;be tired;sit at a desk
p|be on vacation;be on holiday|enjoy a holiday by the sea;spend a vacation in the mountains;be away on a holiday trip|work in the office;be at work;be busy at school|be on the beach;be in paris;stay in a hotel;swim;take a photo
p|travel;be on a journey|ride a train to the coast;fly to another country;drive across the country;go on a trip;take the bus to the city|stay at home;be at home in bed;not go anywhere|have a suitcase;look at a map;wait at the station;pack a bag;be at the airport
p|be at home|sit in the living room of the own house;stay home;relax at home;watch tv at home;cook at home|be at the office;be on the beach;shop in the supermarket;travel by plane;be at school|be tired;read;eat dinner;be alone;sleep;watch a movie
p|be at school|sit in the classroom;study at school;be in class;listen to the teacher in class|be at home;play on the beach;be in bed;be on a boat|read a book;have a backpack;write;talk to a friend;be young
p|study;learn something|study for an exam;do homework;prepare for a test;learn french;take a math lesson|play football;sleep;dance at a party;swim|be at school;sit at a desk;hold a book;be in the library;have a teacher
p|read;be reading|read a book;read the newspaper;read a story aloud;read a letter|swim;sleep;drive a car;play football|hold a book;sit in the library;wear glasses;be at a desk;buy a magazine
p|write;be writing|write a letter;take notes;write a poem;sign a letter|sleep;swim;play the drums|hold a pen;sit at a desk;read;have some paper;be at school
p|exercise;do some exercise|go jogging;lift weights;do push-ups;run a marathon;do yoga;swim laps|sit on the sofa;sleep;lie in bed;eat cake on the couch|be in the gym;wear running shoes;be strong;be outside;drink water
p|be in the water|swim;dive into the lake;float in the pool;take a bath;surf a wave|stand on dry land;be on a mountain;sit in the car;lie in the sand|be at the beach;wear a swimsuit;be wet;play with friends;look at the sea
p|sit;be sitting;be seated|sit on a chair;sit on a bench;sit at the table;have a seat|stand;be standing up;run;walk;lie in bed|read;eat;wait for the train;talk to a friend;be in the park;drink coffee
p|stand;be standing;be on foot|stand in line;stand on the stage;stand near the door|sit on a chair;lie in bed;be seated;sit on the floor|wait;talk to a friend;be in the street;hold a bag;sing
p|be alone;be by myself|be all alone;have no company;sit without anybody else|be with friends;sit in a crowd;dance with a partner;be surrounded by people|read;walk in the park;be at home;be sad;eat dinner
p|be with other people;have company|be with friends;talk with some friends;sit in a crowd;eat with the family|be alone;be all alone;have no company|be happy;be at a party;laugh;be in a restaurant
p|shop;be shopping;buy something|buy bread;shop for clothes;buy some vegetables at the market;pay for a new coat|sleep;swim in the sea;sell apples;buy nothing;leave without buying anything|be in the store;push a cart;look at shoes;have money;stand in line
p|spend money;pay for something|buy a car;pay the bill;buy a ticket;pay for the meal|spend nothing;pay nothing;get it for free|be in a store;be rich;eat in a restaurant;look at a shirt
p|win;win the game|come first;beat the other team;win the race;win the match;take the gold medal|lose;lose the game;come last;be beaten|play;run in the race;train every day;be on the team;play well
p|lose;lose the game|be beaten;be defeated;not win;come last|win;beat everyone;win the match;win first prize|play;be tired;train every day;play against a friend
p|pass the exam;pass the test|get a good mark and pass;manage to pass the exam;succeed in the test|fail the exam;fail the test;not pass|take the test;study hard;sit in the exam;write the exam
p|drive;be driving|drive a car;drive a truck;drive to work;be behind the wheel of a moving car|walk;ride a horse;sleep in bed;swim|own a car;sit in a car;be on the road;wait at the light
p|ride a bike;cycle|ride a bicycle;cycle to work;go for a bike ride;pedal down the road|drive a car;walk;swim;sleep|have a bike;wear a helmet;be on the road;repair a bike
p|wear something on the head|wear a hat;wear a cap;wear a helmet;have a hat on|be bareheaded;wear nothing on the head|wear a coat;be outside;be cold;have short hair
p|wear clothes|wear a red dress;wear a suit;have a coat on;wear a blue shirt and jeans|be naked;wear nothing|be in a shop;be beautiful;stand in front of the mirror
p|perform;give a performance|sing on stage;play in a concert;act in a play;dance for an audience|sleep at home;sit in the audience;watch the show|be on stage;be famous;wear a costume;be nervous
p|make art;create art|paint a picture;draw a portrait;carve a statue;make a sculpture|sleep;play football;wash the car|be in a museum;like art;hold a brush;buy a painting
p|clean something;do housework|wash the dishes;mop the floor;clean the windows;do the laundry;vacuum the carpet;scrub the pan|make a mess;sleep;watch tv;do nothing|be in the kitchen;be at home;have a broom;stand near the sink
p|have a pet;own an animal|own a dog;have two cats;keep a hamster;have a pet rabbit|have no pets;not own any animals|like animals;feed a bird;be in the park;visit the zoo
p|have children;be a parent|have a son;have two daughters;be the mother of three;have a baby|have no children;be childless|be married;like children;play with a boy;be a teacher
p|be married|have a husband;have a wife;be someone 's wife|be single;be unmarried;not be married;never marry|be in love;have children;live in a house;wear a dress
p|have a brother or a sister|have a brother;have two sisters;have an older brother|be an only child;have no brothers or sisters|have parents;have many friends;live with the family
p|be rich;have a lot of money|be wealthy;be a millionaire;own a fortune|be poor;have no money;be broke|have a car;work hard;live in a city;wear a suit
p|be late;arrive late|miss the start;come too late;arrive after the others had begun|be early;arrive on time;be the first to arrive|take the bus;drive to work;run;wait
p|be on the phone|talk on the phone;make a phone call;call a friend|not use the phone;swim under water|have a phone;sit in the office;wait;be busy
p|use a computer|type on a laptop;write an email on the computer;play a computer game;work on a laptop|be far from any computer;swim;ride a horse|be in the office;sit at the desk;work;study
p|take a picture;use a camera|photograph a bird;take a photo;take pictures of the sea|not take any pictures;sleep|hold a camera;be a tourist;look at the view;stand on a bridge
p|build something|build a house;make a sandcastle;construct a wall;build a snowman|tear down a house;destroy a wall;sleep|work outside;hold a hammer;have bricks;be on the beach
p|celebrate;be at a party|have a birthday party;celebrate a wedding;dance at a party;celebrate new year|work alone in the office;sleep;study for an exam|be happy;eat cake;be with friends;wear a nice dress
p|be afraid;be scared|be terrified;be frightened;tremble with fear|be brave and calm;be fearless;not be afraid|see a spider;be alone in the dark;watch a movie;be young
p|be cold|freeze;be freezing;shiver with cold|be warm;be hot;feel nice and warm|be outside;wear a coat;be tired;walk in the snow
p|be in a hurry|rush;hurry;be rushing to work|take it easy;have plenty of time;walk slowly and relax|walk to work;run;be at the station;carry a bag
p|help someone;be helpful|help an old man;assist a friend;carry a bag for a friend;help the children with the homework|help nobody;refuse to help;ignore everyone|talk to a friend;be strong;be a nurse;stand next to an old man
p|be in a vehicle|drive a car;ride in a taxi;sit on the bus;travel by train;sit in a truck|walk;stand on the beach;lie in bed;ride a horse|go to work;look at a car;wait at the stop;be a driver
p|fly;be in the air|fly in a plane;jump out of a plane;fly over the city|be on the ground;sit on the floor;swim|look at the sky;be at the airport;be a pilot;have a ticket
p|be in bed|lie in bed;sleep in the bed;read in bed|stand in the kitchen;be at the office;run;walk the dog|be tired;sleep;be sick;read;be at home
p|get up;be out of bed|get out of bed;be up and about;stand in the kitchen|lie in bed;stay in bed;still be in bed|be awake;be at home;be tired
p|live in a city|live in london;live in the middle of paris;have a flat in tokyo;live in new york|live on a farm in the countryside;live in a small village|work in a shop;visit berlin;like the city;be in rome
p|live in the countryside|live on a farm;live in a small village|live in london;live in a big city|like animals;be a farmer;walk in a field
p|be old|be ninety years old;be very old;be elderly|be young;be a young child;be five years old|have white hair;walk slowly;sit on a bench;wear glasses
p|be young|be five years old;be very young;be a small child|be old;be ninety years old;be elderly|play;run;be at school;have long hair
p|be an adult|be forty years old;be a grown man;be a grandfather|be a baby;be a child;be five years old|drive;be tall;be at home;read
p|listen to music;hear music|listen to a song;enjoy a concert;listen to the band;listen to the radio play a song|hear nothing;sit in total silence;hear no music|dance;wear headphones;be at home;have a radio
p|watch television|watch tv;watch the news on tv;watch a film on television|swim;read a book in bed;drive;have the tv switched off|sit on the sofa;be at home;be tired;relax
p|go to bed;go to sleep|lie down to sleep;go to bed early;fall asleep|get up;wake up;stay awake all night|be tired;read;put on pajamas;be in the bedroom
p|leave;go away|walk out of the house;leave the room;go out;drive away|stay;stay here;arrive;remain in the room|say goodbye;be tired;take a coat;look at the door
p|arrive;come here|reach the station;get here;come home|leave;go away;never arrive|take the train;drive;be late
p|grow plants;work with plants|water the flowers;plant a tree;grow tomatoes;plant roses|cut down all the plants;sleep;play chess|be in the garden;like flowers;hold a shovel;stand near a tree
p|hurt someone;be violent|hit a man;punch a boy;kick a friend hard|be gentle with everyone;hurt nobody|be angry;shout;be strong
p|be kind;be nice|be friendly;be kind to everyone;be very nice|be cruel;be mean;be rude to everyone|be tall;have a dog;help;be old
p|tell the truth|be honest about it;say what is true|lie about it;tell a lie;be dishonest|talk;tell a story;answer
p|be busy|have a lot to do;have no free time;be very busy|have nothing to do;be free all day;be idle|be at work;be in the kitchen;talk on the phone
p|be a good swimmer;swim well|swim very well;be an excellent swimmer|be unable to swim;swim badly|be in the water;like the sea;be strong
p|be able to speak french|speak french and german;speak french well;know how to speak french|not speak any french;speak only english;know no french|live in paris;travel to france;speak german;like france
p|never eat meat;be a vegetarian|not eat any meat;eat only vegetables and fruit|eat a steak;enjoy a burger with meat;eat chicken|like salad;cook soup;eat an apple
p|walk to school;be on the way to school|go to school on foot;walk to school with a friend|stay at home in bed;be on the way home from school;drive to the office|carry a backpack;walk down the street;be young;be late
p|kick a ball;play with a ball|kick a football;kick a ball into the goal;score a goal with a great kick|sit on the sofa without a ball;sleep;read a book|be on the field;watch a game;wear sports shoes
p|go shopping for food;buy food|buy bread and cheese;buy apples at the market;buy vegetables in the supermarket|sell food;sleep at home;buy nothing|be hungry;cook;be in town;carry a bag;write a list
p|be in a restaurant;eat out|order food from the waiter in a restaurant;have dinner in a restaurant|eat at home;cook dinner at home;sit on the beach|be hungry;wear a suit;drink wine;talk with friends
p|be on a boat;be at sea|sail a boat across the sea;row a boat;stand on a ship;fish from a boat|stand on a mountain;drive a car;be on land far from any water|be in the sun;look at the water;be a sailor;love the sea
p|be a musician;be able to play an instrument|play the violin in an orchestra;be a pianist;play the guitar in a band for a living|play no instrument at all;not know how to play any instrument|like music;listen to the radio;go to a concert;have a nice voice
p|be a student|study at the university;go to school every day as a pupil;be a student of history|be a retired man;be a teacher and not a student|read a book;be young;live in a city;write;be in the library
p|have a job;earn money|work as a nurse;be a bus driver;work in a bank;be employed at the factory|be unemployed;be out of work;have no job|be busy;live in a city;drive a car;wear a uniform
p|smoke;be a smoker|smoke a cigarette;smoke a pipe;smoke every day|never smoke;be a non-smoker;not smoke|stand outside;hold a lighter;cough;be old
p|have blond hair;be blond|have long blond hair;have short blond hair|have black hair;be bald;have dark hair;have brown hair|have long hair;wear a hat;be a woman;be beautiful
p|have hair|have long hair;have brown hair;have curly red hair;comb the hair|be completely bald;have no hair|wear a hat;be young;be tall;look in the mirror
p|be good at sports;be athletic|be an excellent athlete;win every race;be the best player on the team|be terrible at sports;be very bad at every sport|be tall;like sports;be young;watch tennis
p|like animals;love animals|adore animals;love dogs and all other animals;be fond of animals|hate animals;dislike all animals;not like animals|be at the zoo;live on a farm;have a brother;be kind
p|know how to cook;be a good cook|be an excellent cook;work as a chef;cook very well|be unable to cook;not know how to cook|eat dinner;be in the kitchen;like food;be hungry
p|go for a walk;take a walk|walk the dog in the park;stroll through town;walk along the river|drive a car;sleep;sit on the sofa;ride a bike|be in the park;have a dog;enjoy the weather;wear a coat
p|walk a dog;be out with a dog|take the dog for a walk;walk a big dog in the park;hold the leash while the dog walks|sit alone in the kitchen;play the piano;sleep|have a dog;be in the park;like animals;hold a leash
p|wait;be waiting|wait for the bus;wait in line;stand in a queue|swim;run;dance;go away without waiting|be at the station;look at the clock;stand;be bored
p|catch the bus;catch the train|reach the bus just in time;get on the train at the last minute|miss the bus;miss the train;arrive after the train has left|run to the station;wait;have a ticket;be in a hurry
p|break something;destroy something|break a window;smash a cup;break a glass|repair something;break nothing|be angry;hold a cup;clean the kitchen;play with a ball
p|fall;fall down|slip and fall on the ice;fall off a horse;trip and fall|stay on the feet;stand firm|run;be on the ice;ride a horse;be hurt
p|be hurt;be injured|break a leg;have a broken arm;cut a finger|be unhurt;be safe and sound;have no injury|be in the hospital;play football;fall;be sad
p|see a doctor;visit a doctor|be examined by the doctor;go to the doctor because of a cold|not go to the doctor;avoid every doctor|be sick;be in the city;wait;have a cold
p|get a present;receive a gift|unwrap a gift from a friend;get a new watch for a birthday;be given a present|get nothing;receive no gifts|have a birthday;be happy;be at a party;have many friends
p|speak loudly;be loud|shout;scream;yell at the top of the voice|whisper;speak in a low voice;be silent;be very quiet|talk;be angry;be on the stage;tell a story
p|play a game|play chess;play cards;play hide and seek;play a board game|sleep;work hard;eat dinner|have fun;sit at the table;be with friends;have a ball
p|dance;be dancing|dance at a wedding;dance with a partner;dance to the music|sit still;sleep;stand still;lie on the floor|be at a party;listen to music;wear a dress;smile
p|sing;be singing|sing a song;sing in a choir;sing a song on the stage|be silent;sleep;eat;drink a glass of water|be on stage;hold a microphone;like music;play the guitar
p|swim;be swimming|swim in the pool;swim in the sea;swim across the lake|walk on the street;sleep in bed;drive;be on a mountain|be at the beach;be wet;wear a swimsuit;look at the lake
p|run;be running|run a marathon;run after the bus;run in the park;jog along the river|stand still;sit;sleep;lie on the grass;walk slowly|be outside;wear running shoes;be in a hurry;be fit
p|walk;be walking|walk down the street;walk the dog;stroll in the park;walk home|sit;sleep;drive a car;run fast;stand still|be in the park;wear a coat;talk;be outside
p|climb something|climb a tree;climb a ladder;climb a wall;climb a mountain|lie on the ground;sleep;swim;sit on the floor|be outside;be high up;look at a tree;be brave
p|hold something;have something in the hands|hold a cup;carry a box;hold a baby;hold an umbrella|have empty hands;hold nothing|stand in the street;drink;walk;wear a coat
a|eat;be eating|eat some grass;chew on a bone;eat from a bowl;eat a carrot|sleep;not eat anything;swim;run|be hungry;be near the bowl;look at the food;be in the yard
a|make a noise;make a sound|bark;howl;bark at the mailman;growl loudly|be silent;sleep quietly;make no sound|look at the door;be outside;run;be hungry
a|play|play with a ball;play with a toy;chase a ball for fun|sleep;be asleep;lie still|be outside;be young;run;look at a ball
a|be in the water|swim;swim in the river;paddle in the lake|be on dry land;lie on the sofa;stand in the barn|be wet;drink;be near the river;look at the fish
a|be in a tree|sit on a branch;climb up a tree;hide in a tree|lie on the floor;swim;be in the river|be outside;look at a bird;be high up;be in the forest
a|fly;be in the air|fly over the house;soar in the sky;fly across the lake|sit on the ground;sleep in the nest;walk on the sand|be near the tree;be outside;sing
a|be hungry|want food;have not eaten for days;be starving|be full;have just eaten a lot|be outside;look at the meat;be small;run
a|chase something|chase a cat;run after a mouse;run after a ball|sleep;lie in the sun;sit still|run;be fast;be in the yard;look at a mouse
"""

SENTENCES = """
it is raining;it is wet outside;there is rain|it is pouring;rain is falling;it is raining heavily|it is sunny and dry;the sun is shining and there is no rain;there is not a cloud in the sky|it is cloudy;it is cold;the sky is gray;people carry umbrellas;it is windy
it is cold;the weather is cold|it is freezing;the temperature is below zero;it is very cold outside|it is hot;it is a hot summer day;it is very warm|it is cloudy;it is windy;it is raining;it is early
it is hot;the weather is hot|it is a hot day;it is very hot outside;it is forty degrees in the shade|it is freezing;it is cold;there is snow and ice everywhere|it is cloudy;it is noon;people are outside;it is windy
the weather is good;it is a nice day|the sun is shining;it is sunny and warm;there is a clear blue sky|there is a terrible storm;it is pouring;the weather is awful;it is raining hard|it is monday;it is morning;people are in the park
the weather is bad|there is a storm;it is pouring;the weather is terrible;it rains and the wind is strong|the sun is shining;it is a lovely sunny day;the weather is great|it is monday;it is evening;people are at home
it is dark;it is night|it is midnight;the moon and the stars are in the black sky;it is the middle of the night|it is noon;the sun is shining;it is bright day|it is cold;it is quiet;it is raining;people are tired
it is snowing;there is snow|snow is falling;it is snowing heavily;snow covers the ground|there is no snow;it is a hot summer day;the ground is dry and green|it is cold;it is winter;it is windy;it is dark
it is windy|a strong wind is blowing;the wind is strong;there is a storm|there is no wind at all;the air is completely still|it is cold;it is raining;it is autumn;boats are on the lake
the store is open;the shop is open|the shop has opened its doors;the store is still open;you can go into the shop and buy things now|the store is closed;the shop is shut today;the store does not open today|the store is big;the shop is new;the shop sells shoes;it is monday
the train is late|the train has not come yet and should be here;the train is delayed;the train arrives an hour late|the train is on time;the train arrives early;the train leaves exactly on time|the train is full;the train is fast;people wait for the train
the restaurant is full|there are no free tables in the restaurant;every table in the restaurant is taken|the restaurant is empty;nobody is in the restaurant;there are many free tables in the restaurant|the restaurant is good;the restaurant is expensive;the food in the restaurant is tasty
the street is empty;nobody is in the street;there are no people in the street|there is not a single person in the street;the street is deserted|the street is crowded;many people are in the street;a man is walking in the street;there are people in the street|the street is long;the street is dark;the street is in paris
the room is full of people;there are many people in the room|the room is crowded;a large crowd is in the room;a hundred people are in the room|the room is empty;nobody is in the room;there is only one person in the room|the room is big;the room is warm;there is music in the room
the house is on fire;the house is burning|flames are coming out of the house;fire is destroying the house|the house is safe and there is no fire|the house is old;the firefighters are coming;there is smoke
the food is good;the food is tasty|the food is delicious;the meal tastes great;everyone loves the food|the food is terrible;the food tastes awful;nobody likes the food|the food is hot;the food is cheap;the food is on the table
the cup is empty|there is nothing in the cup;someone drank everything in the cup|the cup is full of tea;there is coffee in the cup;the cup is full|the cup is blue;the cup is on the table;the cup is new
the bus is full|there are no free seats on the bus;every seat on the bus is taken|the bus is empty;there are many free seats on the bus|the bus is red;the bus is late;the bus is going to the city
the light is on;the lamp is on|someone has switched on the light;the lamp is shining;the light is turned on|the light is off;the lamp has been switched off;it is completely dark because the light is off|the lamp is new;the lamp is on sale;the light is green
the window is open|someone opened the window;the window is wide open|the window is closed;the window is shut;someone has closed the window|the window is big;the window is clean;it is cold in the room
the water is hot|the water is boiling;the water is very hot|the water is ice cold;the water is freezing;the water is cold|the water is clean;the water is deep;the water is blue
the movie is boring;the film is boring|the film is very dull;the movie is so boring that everyone falls asleep|the movie is exciting;the film is thrilling;the film is very interesting|the movie is long;the movie is new;the film is about a dog
the car is broken;the car does not work|the car has broken down;the engine of the car will not start|the car works well;the car is in perfect order;the car is running fine|the car is old;the car is red;the car is in the garage
the game is over|the game has ended;the game finished an hour ago|the game has just begun;the game is still going on;the game has not started yet|the game is exciting;the team is good;many people watch the game
the door is locked|someone has locked the door;nobody can open the door without the key|the door is unlocked;the door is wide open|the door is green;the door is old;someone is behind the door
the test is easy|everyone found the test very easy;the test is simple|the test is very hard;the test is too difficult for everyone|the test is long;the test is on monday;the test is about history
the city is big|it is a huge city;millions of people live in the city|the city is tiny;it is a very small city|the city is old;the city is beautiful;the city is near the sea
the dog is barking;the dog makes noise|the dog barks at the mailman;the dog is barking loudly|the dog is asleep;the dog is silent;the dog is quiet|the dog is big;the dog is outside;the dog is hungry
the children are outside;the children are outdoors|the children are playing in the park;the children are in the garden;the children are building a snowman|the children are in the classroom;the children are asleep in bed;the children are in the living room|the children are happy;the children are young;the children are playing;the children are hungry
the children are having fun;the children enjoy themselves|the children are laughing and playing happily;the children love the game|the children are bored;the children are crying;the children hate the game|the children are in the park;the children are young;the children have a dog
people are watching a game;there is an audience|a crowd is watching the match;thousands of fans are watching the football game|nobody is watching the game;the stadium is empty|people are outside;people are happy;the team is playing
the market is busy;there are many people at the market|the market is crowded;hundreds of people are shopping at the market|the market is deserted;nobody is at the market;the market is closed and empty|the market is cheap;the market is in the city;the market sells fruit
the plane has landed;the plane is on the ground|the plane landed an hour ago;the plane has arrived at the airport|the plane is flying over the sea;the plane is still in the air;the plane has not landed yet|the plane is big;the plane is late;the plane is full
the concert was great;people liked the concert|everyone loved the concert;the crowd cheered after the wonderful concert|the concert was terrible;people left the concert early because it was so bad|the concert was long;the concert was on friday;the concert was in the park
the river is frozen|the river is covered with ice;people skate on the ice of the river|boats sail on the river;children swim in the river;the water of the river is warm|it is winter;the river is long;it is cold
it is early;it is morning|it is six in the morning;the sun is rising;people are having breakfast this morning|it is late in the evening;it is midnight;the sun is setting|it is cold;it is monday;the shop is open
it is summer|it is july;it is a hot day in august;the summer has come|it is winter;it is january;it is a cold day in december|it is warm;it is monday;people are on the beach
it is winter|it is january;it is the coldest day of the winter;winter has come|it is summer;it is july;it is a hot day in august|it is cold;it is dark;it is monday
it is the weekend;it is not a working day|it is saturday;it is sunday|it is monday;it is tuesday;it is wednesday|people are at home;it is cold;it is raining
the book is interesting|everyone finds the book exciting;the book is so good that i read it in one night|the book is boring;the book is dull;nobody finds the book interesting|the book is long;the book is on the table;the book is about animals
the ticket is cheap;the ticket does not cost much|the ticket costs only one dollar;the ticket is very cheap|the ticket costs a fortune;the ticket is expensive|the ticket is for the train;the ticket is green;the ticket is lost
the team won the game;the team won|the team beat the other team;the team won by three goals;the team was victorious|the team lost the game;the team was beaten;the other team won|the team played in paris;the team is young;the team played well
the baby is crying|the baby is in tears;the baby is crying because it is hungry|the baby is laughing;the baby is sleeping quietly|the baby is hungry;the baby is small;the baby is in bed
there is food on the table;something to eat is on the table|there is bread and cheese on the table;a hot pizza is on the table|the table is empty;there is nothing on the table|the table is big;there is a plate on the table;the family is hungry
the baby is born|the mother has given birth to the baby;the baby was born yesterday|the baby is not born yet;the baby will be born next month|the parents are happy;the baby is a girl;the nurse is kind
"""


def rows(text):
    return [[cell.split(";") for cell in line.split("|")] for line in text.strip().split("\n")]
